"""Episodes as they are written, and the check of a replay against its recording."""
