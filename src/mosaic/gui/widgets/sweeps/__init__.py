"""What the window shows of sweeps."""
