"""What the window shows of the live view of a run's environments."""
