"""Verbs about sweeps."""
