"""Verbs about new runs: train, algorithms, scripts, environments."""
