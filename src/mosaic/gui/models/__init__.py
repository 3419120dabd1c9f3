"""What the window knows: state without widgets, and the one source that it is read from."""
