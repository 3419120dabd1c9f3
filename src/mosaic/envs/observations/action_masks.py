"""Which actions are allowed, as an environment says it, and a wrapper that shows it with each observation.

An environment says it in one of three ways, and the first that is there counts:
    "observation"  a part "action_mask" of a Dict observation
    "method"       `env.action_masks()`, as sb3-contrib asks for it
    "info"         `info["action_mask"]` of reset and step, as Gymnasium's Taxi has it

A mask has a truth value for each choice. Those of a MultiDiscrete space stand one behind the other, and so do the two
of each element of a MultiBinary space (0 is allowed, 1 is allowed); they may also come as one array for each element.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from mosaic.envs.observations.parted_rows import MASK
from mosaic.envs.pettingzoo import without_mask
from mosaic.errors import EnvironmentFailed

OBSERVATION = "observation"
METHOD = "action_masks"
Source = Literal["observation", "method", "info"]
Mask = NDArray[np.bool_]


def sizes_of(action_space: Any) -> tuple[int, ...]:
    """How many choices each element of an action has; empty for a space without choices."""
    if isinstance(action_space, spaces.Discrete):
        return (int(cast(Any, action_space).n),)
    if isinstance(action_space, spaces.MultiDiscrete):
        return tuple(cast("list[int]", action_space.nvec.ravel().tolist()))
    if isinstance(action_space, spaces.MultiBinary):
        shape: tuple[int, ...] = cast(Any, action_space).shape
        return (2,) * int(np.prod(shape))
    return ()


def source_of(env: "gymnasium.Env[Any, Any]", *, seed: int = 0) -> Source | None:
    """How this environment says which actions are allowed, if it does; where only a reset can tell, it is reset."""
    if not sizes_of(env.action_space):
        return None
    if MASK in getattr(env.observation_space, "spaces", ()):
        return "observation"
    if env.has_wrapper_attr(METHOD):
        return "method"
    return "info" if env.reset(seed=seed)[1].get(MASK) is not None else None


def flat(mask: Any, action_space: Any, *, env_id: str = "the environment") -> Mask:
    """One truth value for each choice; EnvironmentFailed for what is not a mask of this action space."""
    sizes = sizes_of(action_space)
    whole: Any = mask
    if isinstance(mask, (tuple, list)) and len(whole) == len(sizes) > 1:
        whole = np.concatenate([np.asarray(part).ravel() for part in whole])
    found: Mask = np.asarray(whole).ravel().astype(np.bool_)
    if found.size != sum(sizes):
        raise EnvironmentFailed(
            f"{env_id} gives an action mask of {found.size} values for {action_space}: it must have {sum(sizes)}"
        )
    return found


def fits(mask: Any, action_space: Any) -> bool:
    """Whether it is a mask of this action space."""
    try:
        return flat(mask, action_space).size > 0
    except (EnvironmentFailed, ValueError, TypeError):
        return False


def allows_some(mask: Mask, sizes: Sequence[int]) -> bool:
    """Whether each element of an action has at least one choice."""
    return bool(mask.any()) if len(sizes) == 1 else all(bool(part.any()) for part in parts_of(mask, sizes))


def parts_of(mask: Mask, sizes: Sequence[int]) -> list[Mask]:
    """The mask of each element of an action."""
    return np.split(mask, np.cumsum(sizes)[:-1])


def any_allowed(action_space: Any, mask: Any) -> Any:
    """A random action that the mask allows, drawn by the space's own generator."""
    if mask is None or not sizes_of(action_space):
        return action_space.sample()
    whole = flat(mask, action_space)
    if isinstance(action_space, spaces.Discrete):
        return cast(Any, action_space).sample(whole.astype(np.int8))
    parts = parts_of(whole, sizes_of(action_space))
    space: Any = action_space
    picks = [int(space.np_random.choice(np.flatnonzero(part))) for part in parts]
    chosen: Any = np.array(picks, dtype=space.dtype).reshape(space.shape)
    return chosen + space.start if isinstance(action_space, spaces.MultiDiscrete) else chosen


def without_mask_part(observation: Any) -> Any:
    """An observation without the action mask in it; alone beside a mask, `observation["observation"]` is all of it."""
    if not isinstance(observation, dict) or MASK not in observation:
        return cast(Any, observation)
    rest = {name: part for name, part in cast("dict[str, Any]", observation).items() if name != MASK}
    return rest[OBSERVATION] if set(rest) == {OBSERVATION} else rest


def allowed_now(env: Any, observation: Any, info: Mapping[str, Any]) -> Any:
    """The mask that an environment gives with this observation; None where it gives none."""
    if isinstance(observation, dict) and MASK in observation:
        return cast("dict[str, Any]", observation)[MASK]
    if MASK in info:
        return info[MASK]
    return env.get_wrapper_attr(METHOD)() if env.has_wrapper_attr(METHOD) else None


class WithMask(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Each observation is {"observation": …, "action_mask": …}; a state without any allowed action is refused."""

    def __init__(self, env: "gymnasium.Env[Any, Any]") -> None:
        super().__init__(env)
        self._env_id = env.spec.id if env.spec else type(env.unwrapped).__name__
        self._sizes = sizes_of(env.action_space)
        self._in_observation = MASK in getattr(env.observation_space, "spaces", ())
        self._method: Any = None
        if not self._in_observation and env.has_wrapper_attr(METHOD):
            self._method = env.get_wrapper_attr(METHOD)
        mask = spaces.MultiBinary(sum(self._sizes))
        self.observation_space = spaces.Dict({OBSERVATION: without_mask(env.observation_space), MASK: mask})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return self._shown(observation, info, goes_on=True), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        goes_on = not (terminated or truncated)
        return self._shown(observation, info, goes_on=goes_on), reward, terminated, truncated, info

    def _shown(self, observation: Any, info: Mapping[str, Any], *, goes_on: bool) -> dict[str, Any]:
        found: Any
        if self._in_observation:
            found = observation[MASK]
            observation = without_mask_part(observation)
        else:
            found = self._method() if self._method is not None else info.get(MASK)
        if found is None and not goes_on:
            # An episode that is over has no next action.
            return {OBSERVATION: observation, MASK: np.ones(sum(self._sizes), np.bool_)}
        if found is None:
            raise EnvironmentFailed(f"{self._env_id} gave action masks at first, and now none in info['{MASK}']")
        mask = flat(found, self.env.action_space, env_id=self._env_id)
        if goes_on and not allows_some(mask, self._sizes):
            raise EnvironmentFailed(
                f"the action mask of {self._env_id} allows no action in a state that is not the end"
            )
        return {OBSERVATION: observation, MASK: mask}
