"""What the window knows of the live view of a run's environments."""
