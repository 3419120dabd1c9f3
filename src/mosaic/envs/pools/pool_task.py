"""One environment of envpool's as a Gymnasium environment: a pool of one, made anew for each episode.

A pool takes a seed only when it is made, and nothing gives or sets its state. So each episode has a pool of its own,
whose seed is drawn from the environment's generator: what happens in it follows from that seed and the actions, and a
resume lives it again bit for bit. Making one takes a millisecond for a game and up to some tenths of a second for a
large robot.
"""

from collections.abc import Mapping
from typing import Any, cast

import gymnasium
import numpy as np

from mosaic.envs.pools.pool_maker import actions_of, made, observations_of, spec_of

_OF_THE_POOL = frozenset({"env_id", "players", "elapsed_step"})
"""What tells the environments of a pool apart."""
_MASKS = ("action_mask", "legal_action_mask")


class PoolTask(gymnasium.Env[Any, Any]):
    """`pool_name` is envpool's; other arguments are options that envpool has for this environment."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012

    def __init__(self, pool_name: str, *, render_mode: str | None = None, **options: Any) -> None:
        self.render_mode = render_mode
        self._name, self._options = pool_name, options
        self._pool: Any = None
        spec = spec_of(pool_name, options)
        self._dtype = spec.gymnasium_action_space.dtype
        self.action_space = actions_of(spec)
        self.observation_space = observations_of(spec)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.close()
        drawn = {} if self.render_mode is None else {"render_mode": self.render_mode}
        self._pool = made(self._name, 1, int(self.np_random.integers(2**31)), {**self._options, **drawn})
        observation, info = self._pool.reset()
        return first_of(observation), _told(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        moves = np.asarray(action, dtype=self._dtype)[None]
        observation, reward, terminated, truncated, info = self._pool.step(moves)
        return first_of(observation), float(reward[0]), bool(terminated[0]), bool(truncated[0]), _told(info)

    def render(self) -> Any:
        try:
            return self._pool.render()[0]
        except (RuntimeError, FileNotFoundError) as error:
            # Some have no pictures, and of some the wheel lacks what the pictures are made of.
            raise gymnasium.error.Error(f"envpool has no pictures of {self._name} ({error})") from error

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None


def first_of(batch: Any) -> Any:
    """The row of a pool of one, as a copy: the pool writes into its own memory again."""
    if isinstance(batch, dict):
        parts = cast("dict[str, Any]", batch)
        return {name: first_of(part) for name, part in parts.items()}
    row: Any = np.array(batch[0])
    return row if row.ndim else row.item()


def _told(info: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: first_of(value) for name, value in info.items() if name not in _OF_THE_POOL}
    for name in _MASKS:
        if name in own:
            own["action_mask"] = own.pop(name)
    return own
