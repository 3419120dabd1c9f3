"""Exporters: processes of their own that follow a run's events and never touch the run (docs/tracking.md)."""
