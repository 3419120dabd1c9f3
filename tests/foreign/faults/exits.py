"""Ends itself in the middle."""

import sys

import gymnasium as gym

print("about to leave", file=sys.stderr)
sys.exit(3)
