"""Many environments as one: the backends, their slots, and exact resume of each."""
