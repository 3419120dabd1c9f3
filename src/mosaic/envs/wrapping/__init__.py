"""Wrappers by name around an environment: which there are, how they are made, and what they keep over episodes."""
