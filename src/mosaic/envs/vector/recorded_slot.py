"""One slot of a sync or async vector environment: observation rule and record for exact resume, as a wrapper."""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.core import RenderFrame
from numpy.typing import NDArray

from mosaic.envs.family import Family
from mosaic.envs.vector.batch import Batch
from mosaic.envs.vector.slot_history import LONGEST, AnyEnv, Beginning
from mosaic.envs.wrapping import kept_state


class RecordedSlot(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Outermost wrapper of a slot; its methods below are called through `VectorEnv.call`, in the slot's process."""

    def __init__(self, env: AnyEnv, family: Family, batch: Batch, slot: int) -> None:
        super().__init__(env)
        self.observation_space = batch.space
        self._batch = batch
        self._slot = slot
        self._begin = Beginning(env, family)
        self._log: list[Any] = []
        self._row: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        obs, info = self._begin.reset(len(self._log), seed, options)
        if self._begin.start == len(self._log):
            self._log, self._begin.start = [], 0
        return self._seen(obs), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if len(self._log) >= LONGEST:
            self._log, self._begin.start = [], None
        self._log.append(np.array(action))
        obs, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            info = self._begin.told(info)
        return self._seen(obs), reward, terminated, truncated, info

    def _seen(self, obs: Any) -> Any:
        self._row = self._batch.keep(self._batch.row(obs))
        return self._row

    def seed_episodes_of(self, seeds: Sequence[Sequence[int]]) -> None:
        """The seeds of all slots' coming episodes."""
        self._begin.plan(seeds[self._slot])

    def last_row(self) -> Any:
        """The observation that the next action answers to."""
        return self._row

    def normalisers_of_slot(self) -> list[dict[str, Any]]:
        """The moments of wrappers that normalise observations, the innermost first."""
        return kept_state.normalisers(self.env)

    def snapshot_slot(self) -> dict[str, Any]:
        """This slot's part of a snapshot."""
        since = [] if self._begin.start is None else self._log
        return self._begin.snapshot(self._batch.recorded([[move] for move in since], 0), self._batch.keep(self._row))

    def restore_slot(self, slots: Sequence[Mapping[str, Any]]) -> bool:
        """Go to where this slot was; True if that is exactly where it was saved."""
        self._log = []
        row, exact = self._begin.restore(slots[self._slot], self.env.step, self._batch)
        self._row = self._batch.keep(row)
        return exact

    def render_if(self, slot: int) -> "RenderFrame | list[RenderFrame] | NDArray[Any] | None":
        """The frame, if it is this slot that is asked: `call` reaches all of them."""
        return self.env.render() if slot == self._slot and self.env.render_mode is not None else None
