"""envpool: its slots are shown and counted; `env_type="gym"` means what it meant before."""

import functools
import os
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from cleanrl_worker.foreign.counted_classes import KEY, add
from cleanrl_worker.foreign.import_hooks import Hooks
from cleanrl_worker.foreign.shown_environments import Picture, ShownEnvironments
from cleanrl_worker.foreign.step_counts import StepCounts, VectorCount


class PoolSlot:
    """Shows what the agent sees: envpool's Atari games do not render."""

    def __init__(self, pool: "Pool", index: int) -> None:
        self._pool = pool
        self._index = index

    @property
    def is_there(self) -> bool:
        return not self._pool.is_closed

    def picture(self) -> Picture | None:
        seen = self._pool.seen
        if not isinstance(seen, np.ndarray) or seen.dtype != np.uint8 or seen.ndim != 4:
            return None
        planes = seen[self._index]
        # (4, 84, 84) are four frames, (84, 84, 3) is a picture in colours.
        picture = planes[-1] if planes.shape[0] <= 4 else planes
        return np.repeat(picture[..., None], 3, axis=-1) if picture.ndim == 2 else picture

    def so_far(self) -> tuple[float, int]:
        return 0.0, 0


class Pool:
    """An envpool with the attributes that scripts set on it."""

    def __init__(self, pool: Any, shown_environments: ShownEnvironments, counts: StepCounts, *, old: bool) -> None:
        self.__dict__[KEY] = VectorCount(counts, pool.config["num_envs"], resets_by_a_step=True)
        self.seen: Any = None
        self.is_closed = False
        self.num_envs = pool.config["num_envs"]
        self.observation_space, self.action_space = pool.observation_space, pool.action_space
        self._pool = pool
        self._shown_environments = shown_environments
        self._old = old
        self._slots = [PoolSlot(self, index) for index in range(self.num_envs)]
        for slot in self._slots:
            shown_environments.enter(slot)

    def reset(self, *args: Any, **kwargs: Any) -> Any:
        obs, info = self._pool.reset(*args, **kwargs)
        self.seen = obs
        return obs if self._old else (obs, info)

    def step(self, action: Any, *args: Any, **kwargs: Any) -> Any:
        obs, rewards, terminated, truncated, info = self._pool.step(action, *args, **kwargs)
        self.seen = obs
        if self.__dict__[KEY] is not None:
            add(self, self._count, rewards, terminated | truncated, info)
        self._shown_environments.look()
        if not self._old:
            return obs, rewards, terminated, truncated, info
        info["TimeLimit.truncated"] = truncated & ~terminated
        return obs, rewards, terminated | truncated, info

    def _count(self, rewards: Any, ended: Any, info: Any) -> None:
        """Of an Atari game envpool tells the true score and end; the others may be clipped, and those of a life."""
        over = info["terminated"].astype(bool) | (ended & (info["lives"] == 0)) if "lives" in info else ended
        self.__dict__[KEY].take(info.get("reward", rewards), over)

    def close(self) -> None:
        self.is_closed = True
        for slot in self._slots:
            self._shown_environments.leave(slot)
        self._pool.close()

    def __len__(self) -> int:
        return self.num_envs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)


def hook(hooks: Hooks, shown_environments: ShownEnvironments, counts: StepCounts) -> None:
    # envpool makes this folder when it is imported, in /tmp unless told otherwise: the script may have another TMPDIR.
    os.environ.setdefault("ENVPOOL_JUMANJI_MPLCONFIGDIR", str(Path(tempfile.gettempdir()) / "envpool-matplotlib"))
    hooks.when_imported("envpool", functools.partial(_change, shown_environments=shown_environments, counts=counts))


def _change(module: ModuleType, *, shown_environments: ShownEnvironments, counts: StepCounts) -> None:
    known: Any = module
    make = known.make

    def made(task_id: str, env_type: str = "gymnasium", **kwargs: Any) -> Any:
        pool = make(task_id, env_type=env_type, **kwargs)
        return pool if env_type == "dm" else Pool(pool, shown_environments, counts, old=env_type == "gym")

    known.make = made
    known.make_gym = functools.partial(made, env_type="gym")
    known.make_gymnasium = functools.partial(made, env_type="gymnasium")
