"""Algorithms, environments and actors, as the daemon serves them."""
