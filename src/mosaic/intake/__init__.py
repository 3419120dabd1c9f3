"""Runs of other tools made into runs of ours: their numbers as events, their files beside them (docs/import.md)."""
