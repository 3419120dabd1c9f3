"""Training scripts of users as the studio sees them: which may run, and what their flags are, by reading only."""
