"""What the log of a run is made of: its lines, their times, and what a terminal would show of them."""
