"""Vector environments that step all slots in one call of their own (native, envpool), with our convention of infos.

They cannot replay single slots: `restore` begins fresh episodes, from a seed in the snapshot, and returns False.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mosaic.envs.vector.batch import Batch
from mosaic.envs.vector.episode_tally import Tally
from mosaic.envs.vector.slot_history import FORMAT
from mosaic.errors import CheckpointError, ConfigError, Problem

Stepped = tuple[Any, NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]


class Whole(Protocol):
    """A vector environment that leaves ended slots alone until `begin_again` is called for them."""

    def begin(self, seed: int | None) -> Any:
        """Reset all slots; the batch of raw observations."""
        ...

    def step(self, actions: Any) -> Stepped: ...

    def begin_again(self, ended: NDArray[np.bool_], obs: Any, /) -> Any:
        """Reset the ended slots; `obs` with their rows replaced by first observations."""
        ...

    def frame(self, slot: int) -> Any: ...
    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]: ...
    def rows(self, obs: Any) -> list[Any]: ...
    def close(self) -> None: ...


class WholeVec:
    def __init__(self, whole: Whole, batch: Batch, num_envs: int, backend: str) -> None:
        self.backend = backend
        self.num_envs = num_envs
        self.single_observation_space = batch.space
        self.single_action_space = batch.action_space
        self._whole = whole
        self._batch = batch
        self._tally = Tally(num_envs)
        self._seed = 0
        self._steps = 0
        self._raw: Any = None

    def _seen(self, raw: Any) -> Any:
        if self._batch.encode is None and self._batch.plain:
            return np.array(raw, dtype=self._batch.dtype)
        return self._batch.gather([self._batch.row(each) for each in self._whole.rows(raw)])

    def seed_episodes(self, seeds: Sequence[Sequence[int]]) -> bool:
        """One generator serves all slots: no episode can have a seed of its own."""
        del seeds
        return False

    @property
    def current_obs(self) -> Any:
        """The observations that the next actions answer to."""
        return self._seen(self._raw)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every slot; how `seed` reaches the slots is the backend's own affair."""
        if options:
            raise ConfigError([Problem("options", f"the {self.backend} backend takes no reset options")])
        self._seed, self._steps = seed or 0, 0
        self._tally.clear()
        self._raw = self._whole.begin(seed)
        return self.current_obs, {}

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One step in every slot; a slot whose episode ended is already in its next one."""
        raw, rewards, terminations, truncations, step_infos = self._whole.step(self._batch.shifted(actions))
        rewards = np.array(rewards, dtype=np.float64)
        self._steps += 1
        self._tally.add(rewards)
        over = np.logical_or(terminations, truncations)
        infos: dict[str, Any] = {}
        if over.any():
            last = self._seen(raw)
            finals = {int(slot): (last[slot], _slot_info(step_infos, slot)) for slot in np.flatnonzero(over)}
            raw = self._whole.begin_again(over, raw)
            infos = self._tally.end(self._batch, list(self._seen(raw)), finals)
        self._raw = raw
        return self._seen(raw), rewards, np.array(terminations), np.array(truncations), infos

    def episode_so_far(self, slot: int) -> tuple[float, int]:
        """Return and length of a slot's running episode."""
        return float(self._tally.totals[slot]), int(self._tally.lengths[slot])

    def render_slot(self, slot: int) -> NDArray[np.uint8] | None:
        """The frame of one slot, or None where nothing is rendered."""
        frame = self._whole.frame(slot)
        return None if frame is None else np.asarray(frame, dtype=np.uint8)

    def freezer(self) -> None:
        """The slots are out of reach: they render themselves."""

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method, or read an attribute, of the whole; there are no single environments to ask."""
        return self._whole.call(name, *args, **kwargs)

    def normalisers(self) -> list[dict[str, Any]]:
        """None: these backends take no wrappers."""
        return []

    def close(self) -> None:
        self._whole.close()

    def snapshot(self) -> dict[str, Any]:
        """Only a seed for the fresh episodes that `restore` begins: another one after each number of steps."""
        seed = (self._seed + 1 + self._steps * self.num_envs) % 2**31
        return {"format": FORMAT, "backend": self.backend, "num_envs": self.num_envs, "slots": [], "seed": seed}

    def restore(self, snapshot: Mapping[str, Any]) -> bool:
        """Begin fresh episodes; never exact."""
        if snapshot.get("format") != FORMAT or "seed" not in snapshot:
            raise CheckpointError(
                f"the environment snapshot was not saved by the {self.backend} backend; resume with its own"
            )
        self.reset(seed=snapshot["seed"])
        return False


def _slot_info(infos: Mapping[str, Any], slot: Any) -> dict[str, Any]:
    return {
        key: values[slot] for key, values in infos.items() if isinstance(values, np.ndarray) and not key.startswith("_")
    }
