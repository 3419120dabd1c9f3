"""Needs a package that nobody has."""

import gymnasium as gym
import no_such_package_at_all
