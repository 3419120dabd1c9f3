"""The native backend: Gymnasium's `vector_entry_point`, one object that computes all slots with array operations."""

import inspect
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium import Space
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray

from mosaic.envs.family import Family
from mosaic.envs.vector.batch import Batch
from mosaic.envs.vector.whole_vector import Stepped, WholeVec
from mosaic.errors import EnvironmentFailed


def make_native(
    family: Family, spec: EnvSpec, num_envs: int, observations: str, render_mode: str | None, kwargs: dict[str, Any]
) -> WholeVec:
    """The native vector environment of `spec`, if it has one whose ended slots can be reset in the same step."""
    entry = spec.vector_entry_point
    if entry is None:
        raise EnvironmentFailed(f"'{spec.id}' has no native vector environment; use backend 'bare'")
    parameters = settings_of(spec)
    if "render_mode" in parameters:
        kwargs = kwargs | {"render_mode": render_mode}
    if "autoreset_mode" in parameters:
        kwargs = kwargs | {"autoreset_mode": AutoresetMode.DISABLED}
    envs: VectorEnv[Any, Any, Any] = gymnasium.make_vec(
        spec, num_envs, vectorization_mode="vector_entry_point", **kwargs
    )
    if isinstance(envs, CartPoleVectorEnv):
        whole = _NativeCartPole(envs)
    elif envs.metadata.get("autoreset_mode") is AutoresetMode.DISABLED:
        whole = _Native(envs)
    else:
        envs.close()
        raise EnvironmentFailed(f"'{spec.id}' resets ended slots a step late in its native form; use backend 'bare'")
    seen, actions = cast("tuple[Space[Any], Space[Any]]", (envs.single_observation_space, envs.single_action_space))
    return WholeVec(whole, Batch(seen, actions, family.encoder_of(seen, observations)), num_envs, "native")


def settings_of(spec: EnvSpec) -> set[str]:
    """Names of the settings that the native form of an environment takes."""
    entry = spec.vector_entry_point
    if entry is None:
        return set()
    return set(inspect.signature(load_env_creator(entry) if isinstance(entry, str) else entry).parameters)


class _Native:
    """A vector environment with autoreset disabled, which resets by mask."""

    def __init__(self, envs: VectorEnv[Any, Any, Any]) -> None:
        self.envs = envs

    def begin(self, seed: int | None) -> Any:
        return self.envs.reset(seed=seed)[0]

    def step(self, actions: Any) -> Stepped:
        return self.envs.step(actions)

    def begin_again(self, ended: NDArray[np.bool_], _obs: Any) -> Any:
        return self.envs.reset(options={"reset_mask": ended})[0]

    def rows(self, obs: Any) -> list[Any]:
        return list(iterate(self.envs.observation_space, obs))

    def frame(self, slot: int) -> Any:
        frames = self.envs.render() if self.envs.render_mode is not None else None
        return None if frames is None else frames[slot]

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        found = getattr(self.envs, name)
        result = found(*args, **kwargs) if callable(found) else found
        return (result,) * self.envs.num_envs

    def close(self) -> None:
        self.envs.close()


class _NativeCartPole(_Native):
    """Gymnasium's CartPoleVectorEnv knows only the autoreset one step late (it ignores `reset_mask`).

    What it would do with `prev_done` at the beginning of the next step is done here at the end of this one.
    """

    envs: CartPoleVectorEnv

    def begin_again(self, ended: NDArray[np.bool_], _obs: Any) -> Any:
        carts = self.envs
        assert carts.state is not None
        carts.state[:, ended] = carts.np_random.uniform(carts.low, carts.high, (4, int(ended.sum())))
        carts.steps[ended] = 0
        carts.prev_done[:] = False
        return carts.state.T.astype(np.float32)
