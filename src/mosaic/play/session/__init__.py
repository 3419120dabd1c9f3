"""A play session: its loop, its players, its commands, what it says and shows of itself."""
