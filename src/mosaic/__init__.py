"""MOSAIC, a reinforcement-learning studio."""

__version__ = "0.1.0"
