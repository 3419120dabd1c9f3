"""What an environment is like, for pickers and for the check that an algorithm fits it."""

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from mosaic.envs.families import current_version, family_of
from mosaic.envs.single_environment import make
from mosaic.errors import IncompatibleSpaces

if TYPE_CHECKING:
    from gymnasium import Space

Kind = Literal["discrete", "continuous", "multi_discrete", "pixels", "vector", "composite"]


@dataclass(frozen=True)
class Description:
    """Observation: discrete, vector, pixels or composite. Action: discrete, continuous, multi_discrete or composite."""

    env_id: str
    family: str
    observation: Kind
    observation_space: str
    seen_shape: tuple[int, ...] | None
    """Shape that an algorithm sees with `observations="vector"`; None if it cannot be one array."""
    seen_dtype: str
    action: Kind
    action_space: str
    max_episode_steps: int | None
    newer: str | None
    """The current version, if this one is outdated."""


@cache
def describe(env_id: str) -> Description:
    """Make the environment once, without rendering, and say what it is like."""
    family = family_of(env_id)
    env = make(env_id, render_mode=None)
    try:
        observation, action = env.observation_space, env.action_space
        limit = env.spec.max_episode_steps if env.spec else None
    finally:
        env.close()
    try:
        seen = family.encoder(observation).space
    except (TypeError, NotImplementedError):
        seen = None
    return Description(
        env_id=env_id,
        family=family.name,
        observation=observation_kind(observation),
        observation_space=_readable(observation),
        seen_shape=seen.shape if seen else None,
        seen_dtype=str(seen.dtype) if seen else "",
        action=action_kind(action),
        action_space=str(action),
        max_episode_steps=limit,
        newer=current_version(env_id),
    )


def describe_observation_rule(env_id: str) -> str:
    """One line: the environment's observation space, what an algorithm sees of it, and the family's rule."""
    about = describe(env_id)
    if about.seen_shape is None:
        raise IncompatibleSpaces(f"observations of '{env_id}' have no fixed size: {about.observation_space}")
    seen = f"{about.seen_dtype} of shape {about.seen_shape}"
    return f"{about.observation_space} becomes {seen}: {family_of(env_id).observation_rule}"


def _readable(space: "Space[Any]") -> str:
    # MiniGrid's mission space shows the address of a function.
    return re.sub(r"<function (\S+) at 0x\w+>", r"\1", str(space))


def observation_kind(space: "Space[Any]") -> Kind:
    """As in a description."""
    import numpy as np
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        return "pixels" if space.dtype == np.uint8 and len(space.shape) >= 2 else "vector"
    return "discrete" if isinstance(space, spaces.Discrete) else "composite"


def action_kind(space: "Space[Any]") -> Kind:
    """As in a description."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return "discrete"
    if isinstance(space, spaces.Box):
        return "continuous"
    return "multi_discrete" if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary) else "composite"
