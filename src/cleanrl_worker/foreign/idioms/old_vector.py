"""Vector environments that end and begin an episode in one step, and tell of it as 0.29 did."""

import functools
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper

GONE = ("observation_space", "action_space", "daemon_autoreset")
"""Arguments of 0.29 that say nothing any more: the spaces are those of the environments."""


class EpisodeNumber(np.ndarray[Any, Any]):
    """An array of one number, which also passes for that number: `r[0]`, `float(r)`, `f"{r:.1f}"`, `r.item()`."""

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        return int(self.item())

    def __format__(self, spec: str, /) -> str:
        return format(self.item(), spec) if spec else str(self)

    def __str__(self) -> str:
        return str(np.asarray(self))


def episode_number(value: Any) -> Any:
    """0.29 kept returns in float32 and lengths in int32."""
    if isinstance(value, np.ndarray):
        return value
    kind = np.int32 if isinstance(value, int | np.integer) else np.float32
    return np.array([value], dtype=kind).view(EpisodeNumber)


def change() -> None:
    for cls in (SyncVectorEnv, AsyncVectorEnv):
        _reset_in_the_same_step(cls)
    _tell_as_before()
    env: Any = VectorEnv
    env.is_vector_env = True
    import gymnasium.vector as module

    known: Any = module
    known.VectorEnvWrapper = VectorWrapper
    known.make = make


def make(id: str, num_envs: int = 1, asynchronous: bool = True, wrappers: Any = None, **kwargs: Any) -> Any:  # noqa: A002
    """`gym.vector.make` of 0.29; arguments about checks and spaces say nothing any more."""
    for name in ("disable_env_checker", "shared_memory"):
        kwargs.pop(name, None)
    around = [wrappers] if callable(wrappers) else list(wrappers or ())

    def one() -> Any:
        env: Any = gym.make(id, **kwargs)
        for wrapper in around:
            env = wrapper(env)
        return env

    return (AsyncVectorEnv if asynchronous else SyncVectorEnv)([one] * num_envs)


def _reset_in_the_same_step(cls: Any) -> None:
    original = cls.__init__

    @functools.wraps(original)
    def __init__(this: Any, env_fns: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        for name in GONE:
            kwargs.pop(name, None)
        # A positional observation space was 0.29's second argument.
        rest = args[2:] if args and not isinstance(args[0], bool) else args
        kwargs.setdefault("autoreset_mode", AutoresetMode.SAME_STEP)
        original(this, env_fns, *rest, **kwargs)

    cls.__init__ = __init__


def _tell_as_before() -> None:
    base: Any = VectorEnv
    original = base._add_info

    def _add_info(this: Any, infos: dict[str, Any], info: dict[str, Any], slot: int) -> dict[str, Any]:
        if "final_info" not in info:
            return original(this, infos, info, slot)
        given = dict(info)
        for key, value in (
            ("final_observation", given.pop("final_obs", None)),
            ("final_info", with_arrays(given.pop("final_info"))),
        ):
            if key not in infos:
                infos[key] = np.full(this.num_envs, None, dtype=object)
                infos[f"_{key}"] = np.zeros(this.num_envs, dtype=np.bool_)
            infos[key][slot] = value
            infos[f"_{key}"][slot] = True
        return original(this, infos, given, slot)

    base._add_info = _add_info


def with_arrays(info: dict[str, Any]) -> dict[str, Any]:
    """An info whose episode statistics are arrays of one number."""
    episode = info.get("episode")
    if not isinstance(episode, dict):
        return info
    return info | {"episode": {key: episode_number(value) for key, value in episode.items()}}
