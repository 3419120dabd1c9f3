"""Environments: families and their ids, making one or many, rendering without a display."""

from mosaic.envs.description import (
    Description,
    action_kind,
    describe,
    describe_observation_rule,
    observation_kind,
)
from mosaic.envs.families import FAMILIES, current_version, family_of, list_ids
from mosaic.envs.family import Family
from mosaic.envs.pettingzoo import make_for_several
from mosaic.envs.rendering.draw_in_fork import try_frame
from mosaic.envs.rendering.render_preflight import RenderReport, headless_defaults, preflight
from mosaic.envs.seats import SeatKind, seats_of
from mosaic.envs.single_environment import make
from mosaic.envs.vector.vector_environment import (
    Backend,
    Choice,
    Masks,
    Observations,
    VecEnv,
    choose_backend,
    make_vec,
)

__all__ = [
    "FAMILIES",
    "Backend",
    "Choice",
    "Description",
    "Family",
    "Masks",
    "Observations",
    "RenderReport",
    "SeatKind",
    "VecEnv",
    "action_kind",
    "choose_backend",
    "current_version",
    "describe",
    "describe_observation_rule",
    "family_of",
    "headless_defaults",
    "list_ids",
    "make",
    "make_for_several",
    "make_vec",
    "observation_kind",
    "preflight",
    "seats_of",
    "try_frame",
]
