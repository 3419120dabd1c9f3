"""Prints without an end."""

import gymnasium as gym

line = "all work and no play makes a dull log " * 50
while True:
    print(line)
