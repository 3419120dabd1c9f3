"""What the window knows of sweeps."""
