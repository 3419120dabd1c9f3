"""The space of a sweep: as the algorithms have it, as users type it, and what is refused."""

import json
import math
from typing import Any

import pytest

from mosaic.errors import ConfigError
from mosaic.spec.catalogue import shipped_catalogue
from mosaic.sweep import space, space_words
from mosaic.sweep.space import Dimension
from mosaic.sweep.sweep_plan import SweepPlan, parse, problems_of

WHAT = "mosaic sweep ppo"
ENV = {"properties": {"gravity": {"type": "number", "default": -10.0}}, "additionalProperties": False}


def schemas() -> dict[str, Any]:
    shipped = json.loads(shipped_catalogue.FILE.read_bytes())
    return {one["name"]: one["schema"] for one in shipped["content"]["algorithms"]}


def read(*words: str, fixed: tuple[str, ...] = ()) -> dict[str, Dimension]:
    found = space_words.parse(words, schemas()["ppo"], ENV, fixed=fixed, what=WHAT, env_id="LunarLander-v3")
    return {one.name: one for one in found}


def refusal(*words: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(*words)
    return caught.value.sentence


def test_every_shipped_algorithm_has_a_space_that_fits_its_settings() -> None:
    for name, schema in schemas().items():
        found = space.default_space(schema)
        # Imitation has no rewards to weigh, so it has less to set.
        assert len(found) >= (3 if name == "bc" else 4), name
        assert any("lr" in one.name or "learning_rate" in one.name for one in found), name
        for one in found:
            assert space.checked(one, schema["properties"][one.name]) == one


def test_scales_of_a_command_line() -> None:
    found = read("learning_rate=log:1e-5..1e-2", "num-envs=4,8,16", "gamma=logit:0.9..0.999", "num_steps=pow2:32..2048")
    assert found["learning_rate"] == Dimension(name="learning_rate", low=1e-5, high=1e-2, scale="log")
    assert found["num_envs"].choices == (4, 8, 16)
    assert found["gamma"].scale == "logit"
    assert found["num_steps"].values == (32, 64, 128, 256, 512, 1024, 2048)
    assert found["num_steps"].text == "pow2:32..2048"


def test_switches_nulls_and_settings_of_the_environment() -> None:
    found = read("anneal_lr=true,false", "target_kl=none,0.01", "env.gravity=-12..-8", "update_epochs=1..4")
    assert found["anneal_lr"].choices == (True, False)
    assert found["target_kl"].choices == (None, 0.01)
    assert (found["env.gravity"].low, found["env.gravity"].whole) == (-12.0, False)
    assert found["update_epochs"].values == (1, 2, 3, 4)


def test_a_range_is_cut_into_values_on_its_scale() -> None:
    assert read("learning_rate=log:1e-4..1e-2/3")["learning_rate"].choices == (0.0001, 0.001, 0.01)
    assert read("gamma=logit:0.9..0.999/3")["gamma"].choices == (0.9, 0.99, 0.999)


def test_default_is_the_algorithms_own_space_without_what_the_user_fixed() -> None:
    assert "learning_rate" in read()
    found = read("default", "gamma=0.9,0.99", fixed=("learning_rate",))
    assert "learning_rate" not in found
    assert found["gamma"].choices == (0.9, 0.99)
    assert "ent_coef" in found


def test_a_search_of_an_own_algorithm_that_cannot_be_is_told_before_the_sweep() -> None:
    field = {"type": "number", "exclusiveMinimum": 0, "search": {"low": 0.1, "high": 0.001, "scale": "log"}}
    with pytest.raises(ConfigError, match=r"lr: the Search\(...\) in the algorithm's file cannot be: the range"):
        space_words.parse([], {"properties": {"lr": field}}, None, what=WHAT)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("learning_rat=0.1,0.2", "did you mean learning_rate?"),
        ("learning_rate=log:1e-2..1e-5", "is empty: the lower limit comes first"),
        ("learning_rate=log:0..1e-2", "begins above 0"),
        ("learning_rate=-1..1", "-1.0 cannot be tried: must be a number, greater than 0"),
        ("gamma=logit:0.9..1", "between 0 and 1"),
        ("gamma=0.5..1.5", "1.5 cannot be tried"),
        ("num_envs=4", "has a single value"),
        ("num_envs=4,4", "names a value twice"),
        ("num_envs=4,few", "few"),
        ("num_envs=1.5..3", "takes whole numbers"),
        ("num_steps=pow2:5..7", "fewer than two powers of two"),
        ("anneal_lr=0..1", "takes no numbers"),
        ("learning_rate=lgo:1..2", "'lgo' is not a scale; did you mean log"),
        ("learning_rate", "is not NAME=VALUES"),
        ("seed=1,2", "--confirm-seeds choose the seeds"),
        ("total_timesteps=100,200", "is the length of every trial"),
        ("env_id=A,B", "do not compare"),
        ("env.gravitas=1,2", "is not a setting of LunarLander-v3; did you mean gravity?"),
        ("learning_rate=1e-5..", "is not"),
        ("learning_rate=log:1e-4..1e-2/1", "two values at least"),
    ],
)
def test_a_space_that_cannot_be_is_refused_in_the_users_words(word: str, said: str) -> None:
    assert said in refusal(word)


def test_all_problems_of_a_space_are_told_at_once() -> None:
    assert "2 problems" in refusal("learning_rate=log:0..1", "nothing=1,2")
    assert "is named twice" in refusal("gamma=0.9,0.99", "gamma=0.9,0.95")


def test_proposed_numbers_have_few_digits_and_stay_inside() -> None:
    one = Dimension(name="learning_rate", low=1e-5, high=1e-2, scale="log")
    assert one.rounded(0.000123456789) == 0.0001235
    assert one.rounded(0.0100001) == 0.01
    discount = Dimension(name="gamma", low=0.9, high=0.9999, scale="logit")
    assert discount.rounded(0.99123456) == 0.99123
    assert math.isclose(float(discount.rounded(0.99989) or 0), 0.99989)


def test_settings_of_a_trial_are_put_into_the_run_config() -> None:
    document = {
        "environment": {"env_id": "X"},
        "metadata": {"worker": {"config": {"extras": {"algo_params": {"gamma": 0.9, "script_flags": "--a=1"}}}}},
    }
    made = space.applied(document, {"gamma": 0.5, "env.gravity": -9.0, "script.lr": 0.1})
    assert made["environment"]["settings"] == {"gravity": -9.0}
    assert made["metadata"]["worker"]["config"]["extras"]["algo_params"] == {
        "gamma": 0.5,
        "script_flags": "--a=1 --lr=0.1",
    }
    assert document["environment"] == {"env_id": "X"}


WRAPPED = {"name": "TimeLimit", "arguments": {"max_episode_steps": 200}}
KNOWN = {"TimeLimit": {"properties": {"max_episode_steps": {"type": "integer", "minimum": 1}}}}


def test_arguments_of_wrappers_are_searched() -> None:
    schema = {"properties": {"wrappers": {"known": KNOWN}}}
    [one] = space_words.parse(["wrap.TimeLimit.max-episode-steps=100,200"], {"properties": {}}, schema, what=WHAT)
    assert (one.name, one.choices) == ("wrap.TimeLimit.max_episode_steps", (100, 200))
    document = {
        "environment": {"env_id": "X", "settings": {"wrappers": [WRAPPED]}},
        "metadata": {"worker": {"config": {"extras": {}}}},
    }
    assert space.defaults(document, [one], schema) == {one.name: 200}
    made = space.applied(document, {one.name: 100})
    assert made["environment"]["settings"]["wrappers"] == [
        {"name": "TimeLimit", "arguments": {"max_episode_steps": 100}}
    ]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("wrap.TimeLimit.max_steps=1,2", "TimeLimit has no argument max_steps; did you mean max_episode_steps"),
        ("wrap.TimeLimit.max_episode_steps=0,2", "0 cannot be tried"),
        ("wrap.TimeLimit=1,2", "is not wrap.WRAPPER.ARGUMENT"),
    ],
)
def test_arguments_that_a_wrapper_has_not_are_told(word: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        space_words.parse([word], {"properties": {}}, {"properties": {"wrappers": {"known": KNOWN}}}, what=WHAT)


def plan(**changes: Any) -> SweepPlan:
    worker = {"algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": 1000}
    made: dict[str, Any] = {
        "document": {"environment": {"env_id": "CartPole-v1"}, "metadata": {"worker": {"config": worker}}},
        "space": [{"name": "gamma", "low": 0.9, "high": 0.99}],
        "defaults": {"gamma": 0.9},
    }
    return parse({**made, **changes})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"space": []}, "is empty"),
        ({"space": [{"name": "gamma", "low": 0.99, "high": 0.9}]}, "is empty: the lower limit comes first"),
        ({"space": [{"name": "gamma", "low": 0, "high": 0.9, "scale": "log"}]}, "begins above 0"),
        ({"space": [{"name": "gamma", "choices": [0.9]}]}, "has a single value"),
        ({"space": [{"name": "wrap.TimeLimit.max_episode_steps", "choices": [1, 2]}]}, "add --wrap TimeLimit"),
        ({"space": [{"name": "gamma", "low": 0.9, "high": 0.99}] * 2}, "gamma is named twice"),
        ({"space": [{"name": "seed", "choices": [1, 2]}]}, "choose the seeds"),
        ({"confirm_seeds": [1, 2]}, "stands in --seeds too"),
        (
            {"own_seeds": 1, "trials": 20, "confirm_seeds": [1020, 1021]},
            "1020: 1,001 to 1,020 are the trials' own seeds",
        ),
        ({"seeds": [3, 3]}, "names a seed twice"),
        ({"seeds": []}, "names no seed"),
        ({"confirm_seeds": []}, "names no seed; --confirm 0"),
        ({"trials": 1}, "the default settings alone"),
        ({"steps": 500}, "500 is less than one trial, which takes 1,000"),
        ({"steps": 36_000}, "leaves no room for two trials: the confirmation takes 35 runs"),
        ({"steps": 61_000, "race": False}, "leaves no room for two trials: the confirmation takes 60 runs"),
        ({"runs": 36}, "leaves no room for two trials"),
        ({"runs": 2, "seeds": [1, 2, 3]}, "less than one trial, which takes 3"),
        ({"hours": 0}, "hours"),
        ({"method": "grid"}, "gamma=0.9..0.99/5 makes five"),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        plan(**changes)
    assert said in str(caught.value)


def test_a_budget_in_runs_leaves_room_for_the_confirmation() -> None:
    assert plan(runs=80).most_trials == 45
    assert plan(runs=80, race=False).most_trials == 20
    assert plan(runs=80, seeds=[1, 2]).most_trials == 22
    assert plan(trials=7, runs=80).most_trials == 7
    assert not list(problems_of(plan(steps=37_000)))


def test_a_space_of_few_combinations_ends_by_itself() -> None:
    few = [{"name": "gamma", "choices": [0.9, 0.99]}, {"name": "num_envs", "choices": [1, 2]}]
    assert plan(space=few, trials=40).most_trials == 5
