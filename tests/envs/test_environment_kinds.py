"""What is said of an environment behind wrappers, and of wrappers that do not fit, is what Gymnasium makes of them."""

from itertools import product
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from mosaic.envs.description import action_kind, observation_kind
from mosaic.envs.wrapping import wrapper_schema
from mosaic.envs.wrapping.chosen_wrappers import chosen
from mosaic.errors import EnvironmentFailed
from mosaic.spec import wrappers
from mosaic.spec.catalogue import environment_kinds

KNOWN = {one["name"]: one for one in wrapper_schema.gymnasiums() if not one.get("refused")}
SCHEMA = {"properties": {"wrappers": {"known": KNOWN}}}
WORDS = {
    "TimeLimit": "TimeLimit:9",
    "FrameStackObservation": "FrameStackObservation:2",
    "DelayObservation": "DelayObservation:1",
    "RescaleObservation": "RescaleObservation:0,1",
    "FilterObservation": 'FilterObservation:["a"]',
    "ReshapeObservation": "ReshapeObservation:[4,3]",
    "DtypeObservation": "DtypeObservation:float32",
    "DiscretizeObservation": "DiscretizeObservation:2",
    "ResizeObservation": "ResizeObservation:[8,8]",
    "RescaleAction": "RescaleAction:-2,2",
    "DiscretizeAction": "DiscretizeAction:3,multidiscrete=true",
    "StickyAction": "StickyAction:0.1",
    "RepeatAction": "RepeatAction:2",
    "ClipReward": "ClipReward:-1,1",
}
"""Of those that need arguments."""
OBSERVATIONS: tuple[spaces.Space[Any], ...] = (
    spaces.Box(-1.0, 1.0, (12,), np.float32),
    spaces.Box(0, 255, (6, 6, 3), np.uint8),
    spaces.Discrete(12),
    spaces.Dict({"a": spaces.Box(-1.0, 1.0, (2,), np.float32), "b": spaces.Discrete(2)}),
    spaces.Dict({"c": spaces.Discrete(2)}),
    spaces.Box(np.array([-1.0, -np.inf], np.float32), np.array([1.0, np.inf], np.float32)),
)
ACTIONS: tuple[spaces.Space[Any], ...] = (
    spaces.Discrete(2),
    spaces.Box(-1.0, 1.0, (2,), np.float32),
    spaces.Box(-np.inf, np.inf, (2,), np.float32),
)


class Still(gym.Env[Any, Any]):
    """Nothing happens in it."""

    def __init__(self, observation: spaces.Space[Any], action: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = observation, action


def settings_of(*words: str) -> dict[str, Any]:
    return {"wrappers": [wrappers.read_words(one, KNOWN).as_json() for one in words]}


def kinds_of(env: gym.Env[Any, Any]) -> dict[str, str]:
    return {
        "actions": action_kind(env.action_space),
        "action_space": str(env.action_space),
        "observations": observation_kind(env.observation_space),
        "observation_space": str(env.observation_space),
    }


@pytest.mark.parametrize("name", KNOWN)
def test_what_gymnasium_makes_of_a_wrapper_is_what_was_told(name: str) -> None:
    settings = settings_of(WORDS.get(name, name))
    for observation, action in product(OBSERVATIONS, ACTIONS):
        env: Any = gym.wrappers.TimeLimit(Still(observation, action), 9)
        before = kinds_of(env)
        said = list(environment_kinds.misfits(settings, SCHEMA, before, env_id="Still-v0"))
        told = environment_kinds.kinds_with(settings, SCHEMA, before)
        try:
            for wrap in chosen(settings):
                env = wrap(env)
        except EnvironmentFailed:
            continue
        assert said == [], (observation, action)
        after = kinds_of(env)
        known = {part: kind for part, kind in told.items() if kind}
        assert {part: after[part] for part in known} == known


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["RescaleAction:-1,1"], "RescaleAction needs continuous actions, Still-v0 has Discrete(2)"),
        (['FilterObservation:["a"]'], "FilterObservation needs a Dict or a Tuple, Still-v0 shows Box(-1.0, 1.0, (12,)"),
        (["ReshapeObservation:[3,3]"], "a shape of [3, 3] has 9 numbers, Still-v0 shows 12"),
        (["GrayscaleObservation"], "GrayscaleObservation needs pictures (uint8, from 0 to 255), Still-v0 shows Box"),
        (
            ["DiscretizeObservation:2", "RescaleObservation:0,1"],
            "Still-v0 with the wrappers before it shows discrete observations",
        ),
    ],
)
def test_what_is_said_of_a_wrapper_that_does_not_fit(words: list[str], said: str) -> None:
    kinds = kinds_of(Still(OBSERVATIONS[0], ACTIONS[0]))
    [problem] = environment_kinds.misfits(settings_of(*words), SCHEMA, kinds, env_id="Still-v0")
    assert problem.path == "--wrap"
    assert said in problem.message


@pytest.mark.parametrize(
    ("observation", "words", "said"),
    [
        (-1, "RescaleObservation:0,1", "RescaleObservation needs observations with finite bounds, Still-v0 shows"),
        (3, 'FilterObservation:["a", "z"]', "FilterObservation: Still-v0 has no part z, it shows Dict('a': Box("),
    ],
)
def test_facts_of_the_space_are_told_before_a_worker_tries(observation: int, words: str, said: str) -> None:
    env = Still(OBSERVATIONS[observation], ACTIONS[0])
    [problem] = environment_kinds.misfits(settings_of(words), SCHEMA, kinds_of(env), env_id="Still-v0")
    assert said in problem.message
    with pytest.raises(EnvironmentFailed):
        chosen(settings_of(words))[0](env)


def test_a_setting_that_changes_the_shape_leaves_the_kind_as_it_is() -> None:
    properties = {**SCHEMA["properties"], "map": {"sees": "shape"}, "view": {"sees": "kind"}}
    schema, kinds = {"properties": properties}, kinds_of(Still(OBSERVATIONS[2], ACTIONS[0]))
    grey = settings_of("GrayscaleObservation")
    [problem] = environment_kinds.misfits({"map": "8x8", **grey}, schema, kinds, env_id="Still-v0")
    assert "GrayscaleObservation needs pictures (uint8, from 0 to 255), Still-v0 shows discrete obs" in problem.message
    assert list(environment_kinds.misfits({"view": "ram", **grey}, schema, kinds, env_id="Still-v0")) == []


def test_wrappers_of_users_may_change_anything() -> None:
    kinds = kinds_of(Still(OBSERVATIONS[0], ACTIONS[0]))
    own = settings_of("shaping.py:Bonus", "RescaleAction:-1,1")
    assert list(environment_kinds.misfits(own, SCHEMA, kinds, env_id="Still-v0")) == []
    own = settings_of("shaping.py:Bonus")
    assert set(environment_kinds.kinds_with(own, SCHEMA, kinds).values()) == {""}
