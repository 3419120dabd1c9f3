"""Verbs that show a living run's environments."""
