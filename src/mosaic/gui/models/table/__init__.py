"""What the table of runs knows."""
