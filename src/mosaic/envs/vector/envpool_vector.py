"""The envpool backend: C++ reimplementations of popular environments on a thread pool.

What differs from the others: the physics are envpool's own (float rounding, and in places the version of the rules),
the random numbers too, Atari comes preprocessed (84×84, four frames stacked), and resuming begins fresh episodes.
Where a lost life ends an episode, `final_info` has the game's score, as `mosaic.envs.observations.atari_frames`
describes it. envpool itself resets an ended slot at the next step; here the ended slots are reset at once, by a partial
reset.
"""

from typing import Any, cast

import numpy as np
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

from mosaic.envs.family import Family
from mosaic.envs.pools.pool_maker import POOL_NAME, actions_of, load_pools, made, observations_of, spec_of
from mosaic.envs.vector.batch import Batch
from mosaic.envs.vector.episode_tally import Tally
from mosaic.envs.vector.whole_vector import Stepped, WholeVec
from mosaic.errors import EnvironmentFailed, MissingExtra


def make_pool(
    family: Family, spec: EnvSpec, num_envs: int, observations: str, render_mode: str | None, kwargs: dict[str, Any]
) -> WholeVec:
    """The envpool environment of the same name."""
    try:
        envpool = load_pools()
    except ModuleNotFoundError as error:
        raise MissingExtra("the envpool backend", "envpool") from error
    if POOL_NAME in spec.kwargs:
        # An environment that is envpool's anyway: what it is made with is what a pool is made with.
        kwargs = {**spec.kwargs, **kwargs}
    name = kwargs.pop(POOL_NAME, "") or spec.id.removeprefix("ALE/")
    if name not in envpool.list_all_envs():
        raise EnvironmentFailed(f"envpool has no '{name}'; use backend 'bare'")
    lives = bool(kwargs.get("episodic_life"))
    about = spec_of(name, kwargs)
    seen, actions = observations_of(about), actions_of(about)
    encoder = family.encoder_of(seen, observations)
    pool = (_Lives if lives else _Pool)(name, num_envs, kwargs | {"render_mode": render_mode})
    return WholeVec(pool, Batch(seen, actions, encoder), num_envs, "envpool")


class _Pool:
    def __init__(self, name: str, num_envs: int, kwargs: dict[str, Any]) -> None:
        self._name = name
        self._num_envs = num_envs
        self._kwargs = kwargs
        self.envs: Any = made(name, num_envs, 0, kwargs)

    def begin(self, seed: int | None) -> Any:
        if seed is not None:
            # A pool takes its seed only when it is made.
            self.envs.close()
            self.envs = made(self._name, self._num_envs, seed, self._kwargs)
        return self.envs.reset()[0]

    def step(self, actions: Any) -> Stepped:
        return self.envs.step(np.asarray(actions, dtype=self.envs.action_space.dtype))

    def begin_again(self, ended: NDArray[np.bool_], _obs: Any) -> Any:
        slots = np.flatnonzero(ended)
        return _put(_obs, slots, self.envs.reset(slots)[0])

    def rows(self, obs: Any) -> list[Any]:
        return [_take(obs, slot) for slot in range(self._num_envs)]

    def frame(self, slot: int) -> Any:
        if self._kwargs["render_mode"] is None:
            return None
        try:
            return self.envs.render(env_ids=[slot])[0]
        except RuntimeError as error:
            if "not implemented" in str(error):
                return None
            raise

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        found = getattr(self.envs, name)
        result = found(*args, **kwargs) if callable(found) else found
        return (result,) * self._num_envs

    def close(self) -> None:
        self.envs.close()


class _Lives(_Pool):
    """Games in which a lost life ends an episode."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._games = Tally(self._num_envs)

    def begin(self, seed: int | None) -> Any:
        self._games.clear()
        return super().begin(seed)

    def step(self, actions: Any) -> Stepped:
        obs, rewards, terminations, truncations, infos = super().step(actions)
        games = self._games
        games.add(infos["reward"])  # not clipped
        over = np.logical_or(infos["terminated"], truncations)
        infos |= {"game_over": over, "game_return": games.totals.copy(), "game_length": games.lengths.copy()}
        if over.any():
            games.totals[over] = games.lengths[over] = 0
        return obs, rewards, terminations, truncations, infos

    def begin_again(self, ended: NDArray[np.bool_], obs: Any) -> Any:
        # A reset would begin a new game; a step of an ended slot goes on with the next life, whatever the action.
        slots = np.flatnonzero(ended).astype(np.int32)
        no_matter = np.zeros(len(slots), self.envs.action_space.dtype)
        return _put(obs, slots, self.envs.step(no_matter, slots)[0])


def _put(batch: Any, slots: NDArray[Any], rows: Any) -> Any:
    if isinstance(batch, dict):
        parts = cast("dict[str, Any]", batch)
        return {key: _put(value, slots, rows[key]) for key, value in parts.items()}
    batch = np.array(batch)
    batch[slots] = rows
    return batch


def _take(batch: Any, slot: int) -> Any:
    if isinstance(batch, dict):
        parts = cast("dict[str, Any]", batch)
        return {key: _take(value, slot) for key, value in parts.items()}
    return batch[slot]
