"""Environments: families and their ids, making one or many, rendering without a display."""

from mosaic.envs.families import FAMILIES, current_version, family_of, list_ids
from mosaic.envs.family import Family
from mosaic.envs.single import make
from mosaic.envs.vector import Backend, Choice, Observations, VecEnv, choose_backend, make_vec

__all__ = [
    "FAMILIES",
    "Backend",
    "Choice",
    "Family",
    "Observations",
    "VecEnv",
    "choose_backend",
    "current_version",
    "family_of",
    "list_ids",
    "make",
    "make_vec",
]
