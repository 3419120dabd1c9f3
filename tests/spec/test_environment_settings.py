"""Settings of an environment are read from words and refused by a schema, in the words of the command line."""

import random
from functools import cache

import pytest

from mosaic.errors import ConfigError
from mosaic.spec import environment_flags, environment_settings, setting_values
from mosaic.spec.catalogue import environment_kinds, known_environments, shipped_catalogue
from mosaic.spec.catalogue.known_environments import Found

LAKE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "is_slippery": {"type": "boolean", "default": True},
        "map_name": {"enum": ["4x4", "8x8"], "default": "4x4"},
        "success_rate": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.3},
        "size": {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}], "default": None},
        "reward_schedule": {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3},
    },
}


def read(*words: str, schema=LAKE) -> dict:
    rest, given = environment_flags.take(words, what="mosaic train ppo")
    assert rest == []
    return given.settings(schema, env_id="Lake-v1", what="mosaic train ppo")


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (["--env.is_slippery", "false"], {"is_slippery": False}),
        (["--env.is_slippery=True"], {"is_slippery": True}),
        (["--env.is-slippery"], {"is_slippery": True}),
        (["--env.map_name", "8x8"], {"map_name": "8x8"}),
        (["--env.success_rate", "1"], {"success_rate": 1}),
        (["--env.success_rate", "1e-1"], {"success_rate": 0.1}),
        (["--env.size", "None"], {"size": None}),
        (["--env.reward_schedule", "[1, -0.5, 0]"], {"reward_schedule": [1, -0.5, 0]}),
        (["--env-kwargs", '{"size": 5, "is_slippery": false}'], {"size": 5, "is_slippery": False}),
        (['--env-kwargs={"size": 5}', "--env.map_name", "4x4"], {"size": 5, "map_name": "4x4"}),
    ],
)
def test_words_become_the_values_that_the_schema_asks_for(words, settings):
    found = read(*words)
    assert found == settings
    assert list(map(type, found.values())) == list(map(type, settings.values()))


def test_a_value_may_begin_with_a_dash_and_the_other_words_stay():
    words = ["--env-id", "X-v0", "--env.gravity", "-5", "--seed", "3", "--env.wind"]
    rest, given = environment_flags.take(words, what="train")
    assert rest == ["--env-id", "X-v0", "--seed", "3"]
    assert given.settings(None, env_id="X-v0", what="train") == {"gravity": -5, "wind": True}


def test_words_behind_two_dashes_belong_to_a_script():
    rest, given = environment_flags.take(["--seed", "1", "--", "--env.x", "2"], what="train")
    assert rest == ["--seed", "1", "--", "--env.x", "2"]
    assert not given


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--env.is_slipery", "false"], "--env.is_slipery: is not a setting of Lake-v1; did you mean is_slippery?"),
        (["--env.zzz", "1"], "--env.zzz: is not a setting of Lake-v1; it has is_slippery, map_name,"),
        (["--env.map_name", "9x9"], "--env.map_name: must be one of 4x4, 8x8 (got 9x9)"),
        (["--env.is_slippery", "3"], "--env.is_slippery: must be true or false (got 3)"),
        (["--env.success_rate", "2"], "--env.success_rate: must be a number, at least 0 and at most 1 (got 2)"),
        (["--env.success_rate", "true"], "--env.success_rate: must be a number"),
        (["--env.success_rate", "NaN"], "--env.success_rate: must be a number"),
        (["--env.size", "2.5"], "--env.size: must be a whole number, at least 3 or null (got 2.5)"),
        (["--env.reward_schedule", "[1, 0]"], "--env.reward_schedule: must be a list of 3, each a number (got [1, 0])"),
        (["--env.map_name"], "--env.map_name: must be one of 4x4, 8x8 (got )"),
        (["--env."], "--env.: lacks the name of a setting"),
        (["--env.size", "3", "--env.size", "4"], "--env.size: was given twice"),
        (["--env.size", "3", "--env-kwargs", '{"size": 4}'], "--env.size: stands in --env-kwargs too"),
        (["--env-kwargs", "[1]"], "--env-kwargs: must be a JSON object"),
        (["--env-kwargs"], "--env-kwargs: needs a JSON object"),
    ],
)
def test_what_is_wrong_is_refused_by_the_name_of_its_flag(words, said):
    with pytest.raises(ConfigError) as refused:
        read(*words)
    assert refused.value.exit_code == 2
    assert said in str(refused.value)


def test_all_problems_are_told_at_once():
    with pytest.raises(ConfigError) as refused:
        read("--env.map_name", "9x9", "--env.success_rate", "7", "--env.nothing", "1")
    assert len(refused.value.problems) == 3


def test_an_open_schema_takes_other_names_too():
    assert read("--env.other", "1", schema={**LAKE, "additionalProperties": True}) == {"other": 1}


@cache
def listed() -> dict[str, Found]:
    return known_environments.listed(shipped_catalogue.holding().document["families"])


def test_every_default_in_the_shipped_catalogue_fits_its_own_schema():
    found = listed()
    assert len(found) > 500
    for env_id, about in found.items():
        assert about.settings is not None, env_id
        defaults = {name: one["default"] for name, one in about.settings["properties"].items() if "default" in one}
        assert environment_settings.problems_of(defaults, about.settings, env_id=env_id) == [], env_id


def test_a_default_typed_as_it_is_shown_means_itself():
    for env_id, about in listed().items():
        for name, one in about.settings["properties"].items():
            if "default" in one:
                word = setting_values.shown(one["default"])
                assert setting_values.read_word(word, one) == one["default"], (env_id, name)


def test_a_misspelt_name_is_refused_with_the_one_that_was_meant():
    chance = random.Random(3)
    for env_id, about in chance.sample(sorted(listed().items()), 60):
        names = [name for name in about.settings["properties"] if len(name) > 5]
        if not names or about.settings["additionalProperties"]:
            continue
        name = chance.choice(names)
        at = chance.randrange(1, len(name) - 1)
        misspelt = name[:at] + name[at + 1 :]
        if misspelt in about.settings["properties"]:
            continue
        [problem] = environment_settings.problems_of({misspelt: 1}, about.settings, env_id=env_id)
        assert problem.path == f"--env.{misspelt}"
        assert name in problem.message


@pytest.mark.parametrize(
    ("env_id", "expected"),
    [
        ("FrozenLake8x8-v1", {"map_name": "8x8", "is_slippery": True}),
        ("CliffWalking-v1", {"is_slippery": False}),
        ("Taxi-v4", {"is_rainy": False}),
        ("Blackjack-v1", {"sab": True, "natural": False}),
        ("LunarLander-v3", {"gravity": -10.0, "enable_wind": False}),
        ("LunarLanderContinuous-v3", {"continuous": True}),
        ("BipedalWalkerHardcore-v3", {"hardcore": True}),
        ("CarRacing-v3", {"domain_randomize": False}),
        ("HalfCheetah-v5", {"ctrl_cost_weight": 0.1, "reset_noise_scale": 0.1}),
        ("MiniGrid-Empty-16x16-v0", {"size": 16, "agent_view_size": 7}),
        ("ALE/Breakout-v5", {"frameskip": 4, "repeat_action_probability": 0.25, "full_action_space": False}),
        ("BreakoutNoFrameskip-v4", {"frameskip": 1, "repeat_action_probability": 0.0}),
        ("classic/go-v5", {"board_size": 19, "komi": 7.5}),
        ("mpe/simple_spread-v3", {"N": 3, "max_cycles": 25}),
    ],
)
def test_the_catalogue_has_the_settings_of_each_id_as_it_is_registered(env_id, expected):
    properties = listed()[env_id].settings["properties"]
    assert {name: properties[name]["default"] for name in expected} == expected


def test_an_atari_game_has_its_own_modes():
    modes = listed()["ALE/Breakout-v5"].settings["properties"]["mode"]["anyOf"][0]["enum"]
    assert 0 in modes
    assert 1 not in modes
    with pytest.raises(ConfigError, match=r"--env\.mode: must be one of 0, 4, 8"):
        read("--env.mode", "1", schema=listed()["ALE/Breakout-v5"].settings)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--env.mode=1", "--env.mode: must be one of 0, 4, 8"),
        ("--env.difficulty=7", "--env.difficulty: must be one of 0, 1 or null (got 7)"),
        ("--env.repeat_action_probability=1.5", "must be a number, at least 0 and at most 1 (got 1.5)"),
        (
            "--env.frameskip=0",
            "--env.frameskip: must be a whole number, at least 1 and at most 1000 or a list of 2, each",
        ),
        ("--env.frameskip=100000", "at most 1000 and larger than the one before it (got 100000)"),
        ("--env.frameskip=[5, 2]", "larger than the one before it (got [5, 2])"),
        ("--env.max_num_frames_per_episode=0", "must be a whole number, at least 1 or null (got 0)"),
    ],
)
def test_settings_of_an_atari_game_have_bounds(word, said):
    with pytest.raises(ConfigError) as refused:
        read(word, schema=listed()["ALE/Breakout-v5"].settings)
    assert said in str(refused.value)


def test_a_range_of_frames_is_not_for_algorithms_on_pictures():
    schema = listed()["ALE/Breakout-v5"].settings
    assert read("--env.frameskip=[2, 5]", schema=schema) == {"frameskip": [2, 5]}
    [problem] = environment_kinds.not_for_pictures({"frameskip": [2, 5]}, schema)
    assert str(problem) == "--env.frameskip: algorithms on pictures need one number, not a range"
    assert list(environment_kinds.not_for_pictures({"frameskip": 2}, schema)) == []


def test_settings_that_change_the_actions_change_what_fits():
    lander = listed()["LunarLander-v3"]
    assert lander.with_settings({"continuous": True}).actions == "continuous"
    assert lander.with_settings({"continuous": True}).action_space == ""
    assert lander.with_settings({"gravity": -5}) == lander
    assert listed()["FrozenLake-v1"].with_settings({"map_name": "8x8"}).observation_space == ""
