"""The table of runs."""
