"""What the window shows: views on the models that keep no state and read no file."""
