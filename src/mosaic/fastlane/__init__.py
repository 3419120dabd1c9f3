"""FastLane: live frames of a run's environments through a shared-memory file. For looks; losing it loses nothing."""
