"""Gymnasium's own vector environments, sync and async, over fully wrapped environments, with our infos."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray

from mosaic.envs.vector.batch import Batch
from mosaic.envs.vector.episode_tally import Tally
from mosaic.envs.vector.slot_history import FORMAT, slots_of


class WrappedVec:
    """Adapts a SAME_STEP vector environment whose slots are `Recorder`s; equal to the bare backend bit for bit."""

    def __init__(
        self, envs: SyncVectorEnv | AsyncVectorEnv, batch: Batch, backend: str, *, replays_exactly: bool
    ) -> None:
        self.backend = backend
        self.vector = envs
        self.num_envs = envs.num_envs
        self.single_observation_space = batch.space
        self.single_action_space = batch.action_space
        self._batch = batch
        self._replays_exactly = replays_exactly
        self._tally = Tally(self.num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every slot; slot i is seeded with seed + i."""
        obs, _ = self.vector.reset(seed=seed, options=options)
        self._tally.clear()
        return obs, {}

    def seed_episodes(self, seeds: Sequence[Sequence[int]]) -> bool:
        """The seeds of each slot's coming episodes, from the next reset on."""
        self.vector.call("seed_episodes_of", seeds)
        return True

    @property
    def current_obs(self) -> Any:
        """The observations that the next actions answer to."""
        return self._batch.gather(self.vector.call("last_row"))

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One step in every slot; a slot whose episode ended is already in its next one."""
        obs, rewards, terminations, truncations, infos = self.vector.step(self._batch.shifted(actions))
        self._tally.add(rewards)
        ended = np.flatnonzero(terminations | truncations)
        if not ended.size:
            return obs, rewards, terminations, truncations, {}
        finals = {slot: (infos["final_obs"][slot], slot_info(infos["final_info"], slot)) for slot in ended.tolist()}
        rows = list(iterate(self.vector.observation_space, obs))
        return obs, rewards, terminations, truncations, self._tally.end(self._batch, rows, finals)

    def episode_so_far(self, slot: int) -> tuple[float, int]:
        """Return and length of a slot's running episode."""
        return float(self._tally.totals[slot]), int(self._tally.lengths[slot])

    def render_slot(self, slot: int) -> NDArray[np.uint8] | None:
        """The frame of one slot, or None where nothing is rendered."""
        frame = self.vector.call("render_if", slot)[slot]
        return None if frame is None else np.asarray(frame, dtype=np.uint8)

    def freezer(self) -> None:
        """The slots are out of reach: they render themselves."""

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method, or read an attribute, of every slot's environment."""
        return tuple(self.vector.call(name, *args, **kwargs))

    def normalisers(self) -> list[dict[str, Any]]:
        """The moments of wrappers that normalise observations, the innermost first, as the first slot has them."""
        return self.vector.call("normalisers_of_slot")[0]

    def close(self) -> None:
        self.vector.close()

    def snapshot(self) -> dict[str, Any]:
        """How to get every slot to where it is now; see `mosaic.envs.vector.slot_history` for the format."""
        tallies = zip(self._tally.lengths.tolist(), self._tally.totals.tolist(), strict=True)
        slots = [
            saved | {"length": length, "total": total}
            for saved, (length, total) in zip(self.vector.call("snapshot_slot"), tallies, strict=True)
        ]
        return {"format": FORMAT, "backend": self.backend, "num_envs": self.num_envs, "slots": slots}

    def restore(self, snapshot: Mapping[str, Any]) -> bool:
        """Replay every slot's episode; True if each ended in the very observation that was saved."""
        slots = slots_of(snapshot, self.num_envs)
        exact = self.vector.call("restore_slot", slots)
        for slot, (saved, lived) in enumerate(zip(slots, exact, strict=True)):
            self._tally.lengths[slot] = saved["length"] if lived else 0
            self._tally.totals[slot] = saved["total"] if lived else 0.0
        return self._replays_exactly and all(exact)


def slot_info(infos: Mapping[str, Any], slot: int) -> dict[str, Any]:
    """One slot's info out of Gymnasium's dict of arrays, where `_key` says which slots have `key`."""
    info: dict[str, Any] = {}
    for key, values in infos.items():
        mask = infos.get(f"_{key}")
        if mask is not None and mask[slot]:
            nested = isinstance(values, dict)
            info[key] = slot_info(cast("dict[str, Any]", values), slot) if nested else values[slot]
    return info
