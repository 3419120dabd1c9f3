"""A part of a package, run as if it stood alone."""

from .numbers import STEPS

print(STEPS)
