"""Sweeps of a home: accepted, listed, and their controllers kept alive."""
