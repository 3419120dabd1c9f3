"""Verbs about runs: list, follow, end, resume, copy, import and check them."""
