"""The observation rule, space by space."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.registration import register

from mosaic.envs import make, make_vec
from mosaic.envs.observations.observation_rule import flat_encoder
from mosaic.errors import IncompatibleSpaces


@pytest.mark.parametrize(
    ("space", "size"),
    [
        (spaces.Discrete(5, start=-2), 5),
        (spaces.MultiDiscrete([2, 3]), 5),
        (spaces.MultiBinary(4), 4),
        (spaces.Tuple((spaces.Discrete(3), spaces.Box(0, 1, (2,), np.float64))), 5),
        (spaces.Dict(a=spaces.Discrete(2), b=spaces.Box(-9, 9, (3,), np.int64)), 5),
    ],
)
def test_composite_and_discrete_spaces_become_flat_float32(space: spaces.Space, size: int) -> None:
    encoder = flat_encoder(space)
    space.seed(0)
    row = encoder.encode(space.sample())
    assert row.dtype == np.float32
    assert row.shape == (size,) == encoder.space.shape
    assert encoder.space.contains(row)


def test_pictures_stay_bytes_and_float64_becomes_float32() -> None:
    assert flat_encoder(spaces.Box(0, 255, (4, 4, 3), np.uint8)).space.dtype == np.uint8
    encoder = flat_encoder(spaces.Box(-np.inf, np.inf, (3,), np.float64))
    assert encoder.space.dtype == np.float32
    assert encoder.encode is None


def test_frozen_lake_is_one_hot_and_raw_is_the_state() -> None:
    seen, _ = make_vec("FrozenLake-v1", 3).reset(seed=0)
    assert np.array_equal(seen, np.eye(16, dtype=np.float32)[[0, 0, 0]])
    raw, _ = make_vec("FrozenLake-v1", 3, observations="raw").reset(seed=0)
    assert raw.dtype == np.int64
    assert raw.tolist() == [0, 0, 0]


def test_minigrid_shows_view_and_direction() -> None:
    envs = make_vec("MiniGrid-Empty-5x5-v0", 2)
    seen, _ = envs.reset(seed=0)
    raw, _ = make("MiniGrid-Empty-5x5-v0", render_mode=None).reset(seed=0)
    assert seen.shape == (2, 7 * 7 * 3 + 4)
    assert np.allclose(seen[0, :147].reshape(7, 7, 3) * (10, 5, 3), raw["image"])
    assert seen[0, 147:].tolist() == [float(raw["direction"] == each) for each in range(4)]


def test_minigrid_shows_the_mission_where_it_varies() -> None:
    envs = make_vec("MiniGrid-GoToDoor-5x5-v0", 8)
    seen, _ = envs.reset(seed=0)
    colours = ["blue", "green", "grey", "purple", "red", "yellow"]
    for row, mission in zip(seen, envs.call("mission"), strict=True):
        assert colours[int(row[151:].argmax())] in mission
        assert row[151:].sum() == 1


class Shifted(gymnasium.Env):
    """Actions are 3, 4, 5; the observation is the last action."""

    observation_space = spaces.Discrete(6)
    action_space = spaces.Discrete(3, start=3)
    render_mode = None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        assert self.action_space.contains(action)
        return int(action), 0.0, False, False, {}


class Endless(Shifted):
    observation_space = spaces.Sequence(spaces.Discrete(2))


@pytest.fixture
def own_ids():
    register("tests/Shifted-v0", Shifted, max_episode_steps=5)
    register("tests/Endless-v0", Endless)
    yield
    del gymnasium.registry["tests/Shifted-v0"], gymnasium.registry["tests/Endless-v0"]


@pytest.mark.parametrize("backend", ["bare", "sync"])
def test_actions_are_counted_from_zero(own_ids: None, backend: str) -> None:
    envs = make_vec("tests/Shifted-v0", 3, backend=backend, observations="raw")
    envs.reset(seed=0)
    assert envs.single_action_space == spaces.Discrete(3)
    assert envs.step(np.array([0, 1, 2]))[0].tolist() == [3, 4, 5]
    assert envs.restore(envs.snapshot())


def test_observations_without_a_size_are_refused(own_ids: None) -> None:
    with pytest.raises(IncompatibleSpaces, match="Endless"):
        make_vec("tests/Endless-v0", 1)
