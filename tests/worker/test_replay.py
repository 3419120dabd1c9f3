"""The replay buffer against a plain list: wrap-around, sampling, and going on after a save."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save

from cleanrl_worker.sdk.checkpoints import state_tree
from cleanrl_worker.sdk.replay import ReplayBuffer
from mosaic.errors import CheckpointError, ConfigError, IncompatibleSpaces

VECTOR = gym.spaces.Box(-1, 1, (2,), np.float32)
DISCRETE = gym.spaces.Discrete(5)


def numbered(number: int, num_envs: int) -> tuple[np.ndarray, ...]:
    """A step whose transitions all say which they are: obs, next_obs, actions, rewards, terminations."""
    ids = number * num_envs + np.arange(num_envs)
    obs = np.stack([ids, -ids], axis=1).astype(np.float32)
    return obs, obs + 0.5, ids % 5, ids * 2.0, ids % 3 == 0


def rows(transitions: Any) -> list[tuple[Any, ...]]:
    return [
        (*obs.tolist(), *next_obs.tolist(), int(action), float(reward), float(done))
        for obs, action, next_obs, reward, done in zip(*transitions, strict=True)
    ]


def row(number: int) -> tuple[Any, ...]:
    return (number, -number, number + 0.5, -number + 0.5, number % 5, number * 2, number % 3 == 0)


def stored(buffer: ReplayBuffer) -> list[tuple[Any, ...]]:
    state = buffer.state()
    names = ("obs", "actions", "next_obs", "rewards", "dones")
    return rows([state[name].reshape(-1, *state[name].shape[2:]) for name in names])


@given(size=st.integers(1, 12), num_envs=st.integers(1, 4), steps=st.integers(0, 30))
def test_holds_the_newest_transitions_whole_and_in_a_ring(size: int, num_envs: int, steps: int) -> None:
    buffer = ReplayBuffer(size, num_envs, VECTOR, DISCRETE)
    model: list[tuple[Any, ...]] = []
    for number in range(steps):
        buffer.add(*numbered(number, num_envs))
        model += [row(number * num_envs + env) for env in range(num_envs)]
    capacity = max(size // num_envs, 1) * num_envs
    newest = model[-capacity:]
    assert len(buffer) == len(newest)
    assert sorted(stored(buffer)) == sorted(newest)
    # In a ring: the oldest stands where the next will be written.
    start = buffer.state()["position"] * num_envs if len(model) >= capacity else 0
    assert stored(buffer)[start:] + stored(buffer)[:start] == newest
    if newest:
        assert set(rows(buffer.sample(np.random.default_rng(0), 16))) <= set(newest)


def test_samples_uniformly_and_with_replacement() -> None:
    buffer = ReplayBuffer(8, 2, VECTOR, DISCRETE)
    for number in range(7):
        buffer.add(*numbered(number, 2))
    batch = buffer.sample(np.random.default_rng(0), 80_000)
    drawn, counts = np.unique(batch.obs[:, 0], return_counts=True)
    assert drawn.tolist() == list(range(6, 14))
    np.testing.assert_allclose(counts, 10_000, rtol=0.04)


@pytest.mark.parametrize(
    ("observations", "actions", "dtypes"),
    [
        (gym.spaces.Box(-1, 1, (3,), np.float64), DISCRETE, (np.float32, np.int64)),
        (gym.spaces.Box(0, 255, (2, 2, 1), np.uint8), gym.spaces.Box(-1, 1, (2,), np.float32), (np.uint8, np.float32)),
    ],
)
def test_keeps_pictures_as_bytes_and_everything_else_as_float32(
    observations: gym.spaces.Box, actions: gym.Space[Any], dtypes: tuple[type, type]
) -> None:
    buffer = ReplayBuffer(10, 1, observations, actions)
    observations.seed(0)
    actions.seed(0)
    obs, action = observations.sample(), actions.sample()
    buffer.add(obs[None], obs[None], np.array([action]), np.array([0.1]), np.array([True]))
    batch = buffer.sample(np.random.default_rng(0), 4)
    assert (batch.obs.dtype, batch.actions.dtype) == dtypes
    assert batch.obs.shape == (4, *observations.shape)
    assert batch.actions.shape == (4, *(actions.shape or ()))
    np.testing.assert_array_equal(batch.obs[3], obs.astype(dtypes[0]))
    np.testing.assert_array_equal(batch.actions[3], action)
    assert batch.rewards.dtype == batch.dones.dtype == np.float32
    assert batch.dones.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("steps", [0, 3, 5, 13])
def test_goes_on_bit_for_bit_after_a_save(steps: int) -> None:
    straight = ReplayBuffer(10, 2, VECTOR, DISCRETE)
    for number in range(steps):
        straight.add(*numbered(number, 2))
    document, arrays = state_tree.split(straight.state())
    assert len(arrays["obs"]) == min(steps, 5), "only the filled part is saved"
    resumed = ReplayBuffer(10, 2, VECTOR, DISCRETE)
    resumed.load(state_tree.join(document, load(save(arrays))))
    for number in range(steps, steps + 4):
        for buffer in (straight, resumed):
            buffer.add(*numbered(number, 2))
    one, other = (buffer.sample(np.random.default_rng(1), 32) for buffer in (straight, resumed))
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert stored(straight) == stored(resumed)


@pytest.mark.parametrize("size", [4, 3, 100])
def test_refuses_the_state_of_a_buffer_of_another_size(size: int) -> None:
    saved = ReplayBuffer(10, 1, VECTOR, DISCRETE)
    for number in range(4):
        saved.add(*numbered(number, 1))
    with pytest.raises(CheckpointError, match="10 steps"):
        ReplayBuffer(size, 1, VECTOR, DISCRETE).load(saved.state())


def test_refuses_what_could_never_fit_into_memory() -> None:
    with pytest.raises(ConfigError, match=r"(?s)--buffer-size.*GiB"):
        ReplayBuffer(10**12, 1, VECTOR, DISCRETE)


def test_refuses_spaces_that_are_no_array() -> None:
    with pytest.raises(IncompatibleSpaces, match="Tuple"):
        ReplayBuffer(10, 1, gym.spaces.Tuple([VECTOR, DISCRETE]), DISCRETE)
