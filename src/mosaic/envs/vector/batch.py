"""How single observations and actions become the arrays of a vector environment, and back.

The convention of every backend (Gymnasium's AutoresetMode.SAME_STEP, with one representation):
`infos` is empty unless an episode ended in this step; then it holds
    final_obs       the observation that each slot's action led to, shaped like `obs`. In slots that did not end it
                    equals `obs`, so `infos.get("final_obs", obs)` is the true successor everywhere
    _final_obs      (num_envs,) bool: the slots whose episode ended
    final_info      one dict per slot: the info of the last step where the episode ended, else empty
    episode_return  (num_envs,) float64 and
    episode_length  (num_envs,) int64: of the ended episode, valid where _final_obs
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from gymnasium import Space, spaces
from gymnasium.vector.utils import concatenate, create_empty_array
from numpy.typing import ArrayLike, NDArray

from mosaic.envs.observations.observation_rule import Encoder
from mosaic.errors import IncompatibleSpaces

Ended = Mapping[int, tuple[Any, dict[str, Any]]]
"""Last observation and info of each slot whose episode ended."""


class Batch:
    """The spaces that an algorithm sees, and the conversions between them and the environments' own."""

    def __init__(self, observation_space: Space[Any], action_space: Space[Any], encoder: Encoder | None) -> None:
        self.space: Space[Any] = encoder.space if encoder else observation_space
        self.encode: Callable[[Any], Any] | None = encoder.encode if encoder else None
        self.plain = isinstance(self.space, spaces.Box | spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary)
        self.dtype = self.space.dtype if self.plain else None
        self.action_space: Space[Any] = action_space
        self.first_action: Any = 0
        """Of a space whose choices do not begin at 0: a number, or one for each element."""
        self.discrete = isinstance(action_space, spaces.Discrete)
        self.is_continuous = isinstance(action_space, spaces.Box)
        if isinstance(action_space, spaces.Discrete):
            self.first_action = int(action_space.start)
            self.action_space = spaces.Discrete(int(action_space.n))
        elif isinstance(action_space, spaces.MultiDiscrete):
            several = cast(Any, action_space)
            self.first_action = several.start if several.start.any() else 0
            self.action_space = spaces.MultiDiscrete(several.nvec, dtype=several.dtype.type)
        elif not isinstance(action_space, spaces.Box | spaces.MultiBinary):
            raise IncompatibleSpaces(
                f"actions of {action_space} are not one array; wrap the environment to make them one"
            )

    def row(self, obs: Any) -> Any:
        """One observation as the algorithm sees it, but for the cast that `gather` makes."""
        return obs if self.encode is None else self.encode(obs)

    def keep(self, row: Any) -> Any:
        """A copy that the environment cannot write into when it is reset."""
        return np.array(row, dtype=self.dtype) if self.plain else copy.deepcopy(row)

    def gather(self, rows: Sequence[Any]) -> Any:
        """A new batch of `rows`: one array, or for composite spaces Gymnasium's structure of arrays."""
        if self.plain:
            return np.array(rows, self.dtype)
        return concatenate(self.space, rows, create_empty_array(self.space, len(rows)))

    def moves(self, actions: Any) -> Any:
        """The actions as the environments take them: Python ints counted from the space's start, or rows of a copy."""
        if not self.discrete:
            return self.shifted(np.array(actions))
        moves: list[int] = actions.tolist()
        return [move + self.first_action for move in moves] if self.first_action else moves

    def shifted(self, actions: Any) -> Any:
        """Actions as arrays, counted from the start of the environments' own space and of its type."""
        if self.is_continuous or (self.discrete and not self.first_action):
            return actions
        return (actions + self.first_action).astype(self.action_space.dtype)

    def recorded(self, log: Sequence[Any], slot: int) -> NDArray[Any]:
        """What `moves` returned at each step, for one slot: (steps, *action shape)."""
        shape, dtype = ((), np.int64) if self.discrete else (self.action_space.shape or (), self.action_space.dtype)
        if not log:
            return np.empty((0, *shape), dtype=dtype)
        return np.array([moves[slot] for moves in log])

    def final_infos(self, rows: Sequence[Any], ended: Ended, totals: ArrayLike, lengths: ArrayLike) -> dict[str, Any]:
        """The infos of a step in which the episodes of `ended` were over; see the module's docstring."""
        finals = list(rows)
        mask = np.zeros(len(finals), dtype=np.bool_)
        final_info: list[dict[str, Any]] = [{} for _ in finals]
        for slot, (row, info) in ended.items():
            finals[slot] = row
            mask[slot] = True
            final_info[slot] = info
        return {
            "final_obs": self.gather(finals),
            "_final_obs": mask,
            "final_info": final_info,
            "episode_return": np.array(totals, dtype=np.float64),
            "episode_length": np.array(lengths, dtype=np.int64),
        }
