"""What the window knows of the form of a new run: its fields, presets, dry runs, and the start."""
