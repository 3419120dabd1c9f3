"""The parts of an evaluation: its command line, its batches, what is seen of it."""
