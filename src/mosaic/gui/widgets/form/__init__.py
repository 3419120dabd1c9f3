"""What the window shows of the form of a new run: its fields, presets, dry runs, and the start."""
