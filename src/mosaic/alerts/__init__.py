"""Alerts: rules over the events of runs, who is told, the journal of what was told, and the process that tells it."""
