"""A run's files on their way between two machines: what travels, how it is sent, how it is taken in."""
