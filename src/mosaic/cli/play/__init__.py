"""Verbs about playing: sessions, matches, comparisons, recorded episodes, actors."""
