"""FastLane: live frames of a run's environments through a shared-memory file. For display; losing it loses nothing."""
