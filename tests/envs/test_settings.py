"""An environment has the settings of its run, by every way in which it is made, and its schema says which there are."""

import gymnasium
import numpy as np
import pytest

from mosaic import envs
from mosaic.envs.settings import known_bounds
from mosaic.envs.settings.constructor import arguments_of
from mosaic.envs.settings.settings_schema import schema_of, settings_schema
from mosaic.errors import ConfigError, EnvironmentFailed
from mosaic.spec import environment_settings


class Base:
    def __init__(self, colour: str = "red", width: int = 3, depth: float = 1.0) -> None: ...


class Handing(Base):
    def __init__(self, size=8, place=(1, 1), **kwargs) -> None:
        super().__init__(width=size, **kwargs)


class Twice(Handing):
    def __init__(self, *, far=False, **kwargs) -> None:
        super().__init__(9, **kwargs)


class Closed(gymnasium.utils.EzPickle, Base):
    def __init__(self, limits: tuple[float, float] = (0.7, float("inf")), thing=object, **others) -> None:
        gymnasium.utils.EzPickle.__init__(self, limits, **others)
        Base.__init__(self, "blue", **others)


class Open:
    def __init__(self, size: int, **kwargs) -> None:
        self.made = dict(kwargs)


def test_arguments_that_are_handed_on_are_found_and_those_that_are_filled_in_are_not():
    assert list(arguments_of(Handing).named) == ["size", "place", "colour", "depth"]
    assert list(arguments_of(Twice).named) == ["far", "place", "colour", "depth"]
    assert list(arguments_of(Closed).named) == ["limits", "thing", "width", "depth"]
    assert not arguments_of(Closed).is_open


def test_what_cannot_be_followed_is_open():
    assert arguments_of(Open).is_open
    assert schema_of(Open, {"size": 4})["additionalProperties"]


def test_a_schema_says_types_and_defaults_and_leaves_out_what_no_json_can_give():
    properties = schema_of(Closed, {"width": 5})["properties"]
    assert "thing" not in properties
    assert properties["width"]["default"] == 5
    assert properties["limits"]["default"] == [0.7, "inf"]
    assert schema_of(Handing, {})["properties"]["place"] == {
        "type": "array",
        "items": {"type": "integer"},
        "minItems": 2,
        "maxItems": 2,
        "default": [1, 1],
    }


def test_every_class_and_setting_of_the_table_is_there():
    seen: dict[str, set[str]] = {}
    for family in envs.FAMILIES:
        for env_id in () if family.listed else envs.list_ids(family.name):
            entry = str(gymnasium.spec(env_id).entry_point).rpartition(":")[2]
            if entry in known_bounds.OF_CLASS and entry not in seen:
                seen[entry] = set(settings_schema(env_id)["properties"])
    for class_name, settings in known_bounds.OF_CLASS.items():
        if class_name in seen:
            assert settings.keys() <= seen[class_name], class_name
    assert {"FrozenLakeEnv", "LunarLander", "AtariEnv", "TaxiEnv", "CarRacing", "BipedalWalker"} <= seen.keys()


@pytest.mark.parametrize(
    ("env_id", "settings", "attribute", "value"),
    [
        ("LunarLander-v3", {"gravity": -5}, "gravity", -5),
        ("HalfCheetah-v5", {"ctrl_cost_weight": 0.25}, "_ctrl_cost_weight", 0.25),
        ("Hopper-v5", {"healthy_z_range": [0.5, "inf"]}, "_healthy_z_range", (0.5, float("inf"))),
        ("MiniGrid-Empty-5x5-v0", {"size": 9}, "width", 9),
        ("Taxi-v4", {"is_rainy": True, "rainy_probability": 0.5}, "rainy_probability", 0.5),
        ("Pendulum-v1", {"g": 3.5}, "g", 3.5),
    ],
)
def test_each_way_to_make_an_environment_gives_it_the_settings(env_id, settings, attribute, value):
    one = envs.make(env_id, render_mode=None, settings=settings)
    assert getattr(one.unwrapped, attribute) == value
    one.close()
    bare = envs.make_vec(env_id, 2, backend="bare", settings=settings)
    assert [getattr(each.unwrapped, attribute) for each in bare.envs] == [value] * 2
    bare.close()
    sync = envs.make_vec(env_id, 2, backend="sync", settings=settings)
    assert sync.call("get_wrapper_attr", attribute) == (value,) * 2
    sync.close()


def test_frozen_lake_is_another_map_and_does_not_slip():
    env = envs.make("FrozenLake-v1", render_mode=None, settings={"is_slippery": False, "map_name": "8x8"})
    assert env.observation_space.n == 64
    env.reset(seed=1)
    assert [env.step(2)[0] for _ in range(3)] == [1, 2, 3]


def test_a_step_limit_holds_in_each_backend():
    for backend in ("bare", "sync"):
        many = envs.make_vec("CartPole-v1", 1, backend=backend, settings={"max_episode_steps": 3})
        many.reset(seed=1)
        ended = [bool(many.step(np.zeros(1, int))[3][0]) for _ in range(3)]
        assert ended == [False, False, True], backend
        many.close()


QUICK = [
    ("CartPole-v1", {"sutton_barto_reward": True}),
    ("HalfCheetah-v5", {"forward_reward_weight": 2.0, "exclude_current_positions_from_observation": False}),
    ("Pendulum-v1", {"g": 2.0}),
    ("FrozenLake-v1", {"is_slippery": False}),
]


@pytest.mark.parametrize(("env_id", "settings"), QUICK)
def test_quick_steps_honour_settings_bit_for_bit(env_id, settings):
    bare, sync = (envs.make_vec(env_id, 2, backend=each, settings=settings) for each in ("bare", "sync"))
    assert np.array_equal(bare.reset(seed=3)[0], sync.reset(seed=3)[0])
    space = bare.single_action_space
    space.seed(5)
    for _ in range(120):
        actions = np.stack([space.sample() for _ in range(2)])
        assert all(map(np.array_equal, bare.step(actions)[:4], sync.step(actions)[:4]))
    bare.close()
    sync.close()


@pytest.mark.parametrize(("env_id", "settings"), QUICK)
def test_a_snapshot_with_settings_goes_on_exactly(env_id, settings):
    one, other = (envs.make_vec(env_id, 2, settings=settings) for _ in range(2))
    one.reset(seed=3)
    space = one.single_action_space
    space.seed(5)
    for _ in range(60):
        one.step(np.stack([space.sample() for _ in range(2)]))
    assert other.restore(one.snapshot())
    for _ in range(60):
        actions = np.stack([space.sample() for _ in range(2)])
        assert all(map(np.array_equal, one.step(actions)[:4], other.step(actions)[:4]))


def test_processes_of_their_own_have_the_settings_too():
    many = envs.make_vec("FrozenLake-v1", 2, backend="async", settings={"is_slippery": False, "map_name": "8x8"})
    many.reset(seed=1)
    seen = [np.argmax(many.step(np.array([2, 1]))[0], axis=1).tolist() for _ in range(2)]
    many.close()
    assert seen == [[1, 8], [2, 16]]


def test_native_honours_what_it_knows_and_steps_aside_for_the_rest():
    native = envs.make_vec("CartPole-v1", 2, backend="native", settings={"sutton_barto_reward": True})
    assert native.backend == "native"
    native.reset(seed=1)
    assert native.step(np.zeros(2, int))[1].tolist() == [0.0, 0.0]
    choice = envs.choose_backend("MountainCar-v0", 2, backend="native", settings={"goal_velocity": 0.01})
    assert choice == ("bare", "native was asked for, and does not know the setting goal_velocity")


def test_envpool_steps_aside_for_settings_that_it_does_not_know():
    choice = envs.choose_backend("FrozenLake-v1", 2, backend="envpool", settings={"is_slippery": False})
    assert choice.backend == "bare"
    assert "envpool was asked for, and does not know the setting is_slippery" in choice.reason
    assert envs.choose_backend("ALE/Pong-v5", 2, backend="envpool", settings={"frameskip": 2}).backend == "envpool"
    assert envs.choose_backend("ALE/Pong-v5", 2, backend="envpool", settings={"frameskip": [2, 5]}).backend == "bare"


def test_envpool_plays_atari_with_its_settings():
    pool = envs.make_vec(
        "ALE/Pong-v5", 1, backend="envpool", observations="pixels", settings={"full_action_space": True}
    )
    assert pool.backend == "envpool"
    assert pool.single_action_space.n == 18
    pool.close()


def test_a_frame_skip_of_a_run_replaces_that_of_the_pictures():
    frames = []
    for settings in ({}, {"frameskip": 2}, {"frameskip": 1}):
        env = envs.make("ALE/Breakout-v5", render_mode=None, pixels=True, settings=settings)
        env.reset(seed=1)
        before = env.unwrapped.ale.getEpisodeFrameNumber()
        env.step(0)
        frames.append(env.unwrapped.ale.getEpisodeFrameNumber() - before)
        env.close()
    assert frames == [4, 2, 1]


def test_a_range_of_frame_skips_is_drawn_from_where_no_pictures_are_made():
    env = envs.make("ALE/Breakout-v5", render_mode=None, settings={"frameskip": [2, 5]})
    env.reset(seed=1)
    frames = [env.unwrapped.ale.getEpisodeFrameNumber() for _ in range(40) if env.step(0)]
    assert set(np.diff(frames)) == {2, 3, 4}
    env.close()


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"obs_type": "ram"}, "--env.obs_type: algorithms on pictures"), ({"frameskip": [2, 5]}, "--env.frameskip:")],
)
def test_settings_that_pictures_cannot_have_are_refused(settings, said):
    with pytest.raises(ConfigError, match=said):
        envs.make("ALE/Breakout-v5", render_mode=None, pixels=True, settings=settings)


def test_pettingzoo_takes_its_arguments():
    made = envs.make_for_several("classic/go-v5", render_mode=None, settings={"board_size": 5})
    made.env.reset(seed=1)
    assert made.env.observation_space(made.env.possible_agents[0])["observation"].shape[:2] == (5, 5)
    made = envs.make_for_several("mpe/simple_spread-v3", render_mode=None, settings={"N": 2})
    assert len(made.env.possible_agents) == 2


def test_a_value_that_the_simulator_refuses_is_told_as_such():
    with pytest.raises(EnvironmentFailed, match="'LunarLander-v3' could not be made"):
        envs.make("LunarLander-v3", render_mode=None, settings={"no_such": 1})


def test_a_picture_is_tried_with_the_settings():
    report = envs.try_frame("CarRacing-v3", {"domain_randomize": True})
    assert report.ok, report.message
    assert environment_settings.spoken({"a": True, "b": "x"}) == "a=true, b=x"


class OfUser:
    def __init__(self, must: str, task: str = "reach", size: int = 2, render_mode=None) -> None: ...


def test_the_tables_say_nothing_of_a_constructor_of_a_user():
    schema = schema_of(OfUser, {}, is_listed=False)
    assert schema["required"] == ["must"]
    assert schema["properties"] == {
        "must": {"type": "string"},
        "task": {"type": "string", "default": "reach"},
        "size": {"type": "integer", "default": 2},
    }
    [problem] = environment_settings.missing({"size": 1}, schema, env_id="mine.py:OfUser")
    assert str(problem) == "--env.must: is missing; mine.py:OfUser cannot be made without it"
    assert environment_settings.problems_of({"must": "a", "size": 1}, schema, env_id="mine.py:OfUser") == []
