"""Observations by their parts: names, shapes, and where each lies in a row."""

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from mosaic.envs import make_vec
from mosaic.envs.observations.observation_rule import parts_encoder
from mosaic.envs.observations.parted_rows import PartedRows, how_seen, is_like

ROBOT = spaces.Dict(
    {
        "arm": spaces.Dict({"camera": spaces.Box(0, 255, (4, 5, 3), np.uint8), "grip": spaces.Discrete(3, start=1)}),
        "battery": spaces.Box(0.0, 1.0, (), np.float64),
        "legs": spaces.Tuple((spaces.MultiDiscrete([2, 3]), spaces.MultiBinary(4))),
    }
)


def test_a_row_holds_each_part_in_its_place_and_shape() -> None:
    encoder = parts_encoder(ROBOT)
    assert isinstance(encoder.space, PartedRows)
    assert encoder.encode is not None
    shapes = {name: box.shape for name, box in encoder.space.parts.items()}
    assert shapes == {"arm.camera": (4, 5, 3), "arm.grip": (3,), "battery": (1,), "legs.0": (5,), "legs.1": (4,)}
    ROBOT.seed(1)
    for _ in range(20):
        obs = ROBOT.sample()
        row = encoder.encode(obs)
        assert encoder.space.contains(row)
        found = {name: row[place].reshape(shapes[name]) for name, place in encoder.space.slices.items()}
        np.testing.assert_array_equal(found["arm.camera"], obs["arm"]["camera"])
        assert found["arm.grip"].tolist() == [float(obs["arm"]["grip"] == at) for at in (1, 2, 3)]
        assert found["battery"][0] == np.float32(obs["battery"])
        np.testing.assert_array_equal(found["legs.0"], spaces.flatten(ROBOT["legs"][0], obs["legs"][0]))
        np.testing.assert_array_equal(found["legs.1"], obs["legs"][1])


def test_what_is_one_part_keeps_its_shape_and_what_has_no_size_is_refused() -> None:
    assert [box.shape for box in parts_encoder(spaces.Box(0, 1, (6, 7, 2))).space.parts.values()] == [(6, 7, 2)]  # type: ignore[attr-defined]
    with pytest.raises((TypeError, NotImplementedError)):
        parts_encoder(spaces.Dict({"words": spaces.Sequence(spaces.Discrete(2))}))


def test_a_mask_that_is_only_shown_is_a_part_like_others() -> None:
    space = parts_encoder(spaces.Dict({"action_mask": spaces.MultiBinary(2), "x": spaces.Box(0, 1, (1,))})).space
    assert how_seen(space) == ("parts", False)


def test_a_space_of_parts_knows_its_like() -> None:
    one = spaces.Box(0.0, 1.0, (3,), np.float32)
    whole, masked = PartedRows({"vector": one}), PartedRows({"action_mask": one, "vector": one})
    assert pickle.loads(pickle.dumps(masked)) == masked != whole
    assert list(masked.parts) == ["vector", "action_mask"]
    assert (masked.choices, whole.choices, masked.shape) == (3, 0, (6,))
    assert is_like(masked, PartedRows({"vector": spaces.Box(0, 9, (3,)), "action_mask": one}))
    assert not is_like(masked, spaces.Box(0, 1, (6,)))
    assert not is_like(spaces.MultiBinary(3), spaces.Box(0, 1, (3,)))
    assert not is_like(spaces.MultiDiscrete([2, 3]), spaces.MultiDiscrete([3, 2]))
    assert is_like(spaces.Discrete(3), spaces.Discrete(3))


@pytest.mark.parametrize("backend", ["bare", "sync"])
def test_minigrid_shows_a_channel_for_each_object_colour_and_state(backend: Any) -> None:
    envs = make_vec("MiniGrid-GoToDoor-5x5-v0", 2, observations="parts", backend=backend)
    raw = make_vec("MiniGrid-GoToDoor-5x5-v0", 2, observations="raw")
    space = envs.single_observation_space
    assert isinstance(space, PartedRows)
    assert {name: box.shape for name, box in space.parts.items()} == {
        "image": (7, 7, 21),
        "direction": (4,),
        "mission": (6,),
    }
    rows, seen = envs.reset(seed=1)[0], raw.reset(seed=1)[0]
    for _ in range(20):
        picture = rows[:, space.slices["image"]].reshape(2, 7, 7, 21)
        found = [picture[..., :11].argmax(-1), picture[..., 11:17].argmax(-1), picture[..., 17:].argmax(-1)]
        np.testing.assert_array_equal(np.stack(found, -1), seen["image"])
        assert (picture.sum(-1) == 3).all()
        np.testing.assert_array_equal(rows[:, space.slices["direction"]].argmax(1), seen["direction"])
        actions = np.array([0, 2])
        rows, seen = envs.step(actions)[0], raw.step(actions)[0]
    envs.close()


def test_rows_of_parts_go_through_processes() -> None:
    envs = make_vec("mosaic/Signpost-v0", 2, observations="parts", backend="async")
    try:
        rows = envs.reset(seed=3)[0]
        bare = make_vec("mosaic/Signpost-v0", 2, observations="parts")
        np.testing.assert_array_equal(rows, bare.reset(seed=3)[0])
        np.testing.assert_array_equal(envs.step(np.array([0, 1]))[0], bare.step(np.array([0, 1]))[0])
    finally:
        envs.close()


def test_the_tasks_of_ours_pass_the_checker_of_gymnasium() -> None:
    from gymnasium.utils.env_checker import check_env

    from mosaic.envs import list_ids, make

    for env_id in list_ids("choices"):
        env: gym.Env[Any, Any] = make(env_id)
        check_env(env.unwrapped)
        env.reset(seed=1)
        assert env.render().shape[2] == 3  # type: ignore[union-attr]
        env.close()
