"""What is seen of a run: the live view and its two forms, and videos."""
