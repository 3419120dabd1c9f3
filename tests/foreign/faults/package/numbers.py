"""What the script beside it needs."""

STEPS = 3
