"""Sweeps: files that say what is tried, and a process without state of its own that tries it (docs/sweeps.md)."""
