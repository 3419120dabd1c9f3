"""Fails while it is loaded."""

import gymnasium as gym

value = {}["nothing"]
