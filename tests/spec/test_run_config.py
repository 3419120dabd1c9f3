"""The run config: three kinds, every problem at once, and no secret that survives."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic import config
from mosaic.errors import ConfigError
from mosaic.spec import run_config
from mosaic.spec.run_config import (
    PlayExtras,
    PolicyEvalExtras,
    TrainExtras,
    TrainRunConfig,
    parse,
    parse_worker,
    take_secrets,
)

# design.md, section 5, to the letter.
DESIGN = """
{"run_name": "walker, seed 1",
 "environment": {"env_id": "Walker2d-v5"},
 "artifacts": {"tensorboard": {"enabled": true}, "wandb": {"enabled": false}},
 "resources": {"cpus": 1, "gpus": 0},
 "metadata": {"ui": {}, "worker": {"module": "cleanrl_worker.cli", "config": {
     "algo": "ppo_continuous_action", "env_id": "Walker2d-v5", "total_timesteps": 1000000, "seed": 1,
     "worker_id": "", "agent_id": "", "extras": {"algo_params": {"num_envs": 8, "learning_rate": 3e-4}, "notes": ""}}}}}
"""
EXTRAS = "metadata.worker.config.extras"
KEY = "wandb-key-1234567890"


@pytest.fixture
def train() -> dict[str, Any]:
    return json.loads(DESIGN)


@pytest.fixture
def policy_eval(train: dict[str, Any]) -> dict[str, Any]:
    put(train, EXTRAS, {"mode": "policy_eval", "policy_path": "/runs/a.cleanrl_model"})
    return train


def put(data: dict[str, Any], path: str, value: object) -> None:
    """Set the value at a dotted path, or delete it with `...`."""
    *folders, last = path.split(".")
    for key in folders:
        data = data[key]
    if value is ...:
        del data[last]
    else:
        data[last] = value


def problems_of(data: dict[str, Any], read: Callable[[Any], object] = parse) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        read(data)
    return {problem.path: problem.message for problem in caught.value.problems}


def test_the_designs_example_is_a_training_run(train: dict[str, Any]) -> None:
    parsed = parse(train)
    worker = parsed.metadata.worker.config
    assert (parsed.run_name, worker.algo, worker.total_timesteps) == ("walker, seed 1", "ppo_continuous_action", 10**6)
    assert worker.extras == TrainExtras(algo_params={"num_envs": 8, "learning_rate": 3e-4})


def test_a_config_survives_json(train: dict[str, Any]) -> None:
    parsed = parse(train)
    assert parse(json.loads(json.dumps(config.to_json(parsed)))) == parsed


def test_every_key_of_the_design_is_accepted_in_a_training_run(train: dict[str, Any]) -> None:
    extras = {
        "algo_params": {}, "tensorboard_dir": "tensorboard", "track_wandb": True, "wandb_project_name": "p",
        "wandb_entity": "e", "wandb_run_name": "r", "wandb_email": "a@b", "wandb_use_vpn_proxy": True,
        "wandb_http_proxy": "http://p", "wandb_https_proxy": "http://p", "capture_video": True, "save_model": False,
        "notes": "n", "fastlane_enabled": False, "fastlane_only": True, "video_mode": "single", "fastlane_slot": 2,
        "grid_limit": 4,
    }  # fmt: skip
    put(train, EXTRAS, extras)
    put(train, "artifacts.wandb.enabled", True)
    kept = config.to_json(parse(train).metadata.worker.config.extras)
    assert {key: kept[key] for key in extras} == extras


def test_every_key_of_the_design_is_accepted_in_an_evaluation(policy_eval: dict[str, Any]) -> None:
    extras = {
        "mode": "policy_eval", "policy_path": "p", "eval_capture_video": True, "eval_episodes": 5,
        "eval_batch_size": 5, "eval_repeat": True, "seed_override": 7, "video_mode": "off", "notes": "",
    }  # fmt: skip
    put(policy_eval, EXTRAS, extras)
    parsed = parse(policy_eval).metadata.worker.config.extras
    assert isinstance(parsed, PolicyEvalExtras)
    assert (parsed.eval_episodes, parsed.eval_repeat, parsed.seed_override) == (5, True, 7)


def test_extras_and_their_mode_may_be_left_out(train: dict[str, Any]) -> None:
    put(train, EXTRAS, ...)
    assert parse(train).metadata.worker.config.extras == TrainExtras()


def test_an_evaluation_needs_no_algorithm_but_a_policy(policy_eval: dict[str, Any]) -> None:
    put(policy_eval, "metadata.worker.config.algo", "")
    assert isinstance(parse(policy_eval).metadata.worker.config.extras, PolicyEvalExtras)
    put(policy_eval, f"{EXTRAS}.policy_path", ...)
    assert problems_of(policy_eval) == {f"{EXTRAS}.policy_path": "is missing"}


def test_play_has_seats(train: dict[str, Any]) -> None:
    put(train, EXTRAS, {"mode": "play", "actors": {"black": "human", "white": "random"}, "episodes": 2})
    put(train, "metadata.worker.config.algo", "")
    parsed = parse(train).metadata.worker.config.extras
    assert isinstance(parsed, PlayExtras)
    assert parsed.actors == {"black": "human", "white": "random"}


@pytest.mark.parametrize(
    "path",
    ["metadata", "artifacts", "environment", "environment.env_id", "metadata.worker", "metadata.worker.config",
     "metadata.worker.config.env_id"],
)  # fmt: skip
def test_what_is_mandatory_is_missed_by_name(path: str, train: dict[str, Any]) -> None:
    put(train, path, ...)
    assert problems_of(train) == {path: "is missing"}


def test_a_training_run_needs_an_algorithm(train: dict[str, Any]) -> None:
    put(train, "metadata.worker.config.algo", "")
    assert problems_of(train) == {"metadata.worker.config.algo": "is missing"}


@pytest.mark.parametrize(
    "level",
    ["", "environment.", "artifacts.", "artifacts.wandb.", "artifacts.tensorboard.", "resources.", "metadata.",
     "metadata.worker.", "metadata.worker.config.", f"{EXTRAS}."],
)  # fmt: skip
def test_an_unknown_key_is_refused_at_each_level(level: str, train: dict[str, Any]) -> None:
    put(train, f"{level}surprise", 1)
    assert problems_of(train) == {f"{level}surprise": "is not a known key"}


def test_a_key_of_another_kind_of_run_is_unknown(train: dict[str, Any]) -> None:
    put(train, f"{EXTRAS}.policy_path", "x")
    assert problems_of(train) == {f"{EXTRAS}.policy_path": "is not a known key"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("run_name", 3),
        ("environment", "Walker2d-v5"),
        ("artifacts.wandb.enabled", 1),
        ("artifacts.wandb", {}),
        ("resources.cpus", 0),
        ("resources.cpus", 1.0),
        ("resources.gpus", -0.5),
        ("resources.gpus", float("nan")),
        ("metadata.ui", []),
        ("metadata.worker.config.seed", -1),
        ("metadata.worker.config.seed", 2**32),
        ("metadata.worker.config.seed", True),
        ("metadata.worker.config.total_timesteps", 0),
        ("metadata.worker.config.total_timesteps", "1000000"),
        (f"{EXTRAS}.grid_limit", run_config.MAX_GRID + 1),
        (f"{EXTRAS}.video_mode", "mosaic"),
        (f"{EXTRAS}.checkpoints_kept", 0),
        (f"{EXTRAS}.fastlane_slot", -1),
        (f"{EXTRAS}.algo_params", None),
        (f"{EXTRAS}.algo_params.gamma", float("inf")),
        (EXTRAS, None),
        (EXTRAS, []),
    ],
)
def test_a_wrong_value_is_refused_with_its_path(path: str, value: object, train: dict[str, Any]) -> None:
    put(train, path, value)
    (found,) = problems_of(train)
    assert found.startswith(path)


def test_an_unknown_mode_names_the_known_ones(train: dict[str, Any]) -> None:
    put(train, f"{EXTRAS}.mode", "dream")
    message = problems_of(train)[EXTRAS]
    assert all(mode in message for mode in ("dream", "train", "policy_eval", "play"))


def test_every_problem_is_listed_at_once(train: dict[str, Any]) -> None:
    put(train, "environment", ...)
    put(train, "colour", "red")
    put(train, "resources.cpus", "two")
    put(train, f"{EXTRAS}.grid_limit", 0)
    put(train, f"{EXTRAS}.surprise", 1)
    assert problems_of(train).keys() == {
        "environment", "colour", "resources.cpus", f"{EXTRAS}.grid_limit", f"{EXTRAS}.surprise",
    }  # fmt: skip


def test_contradictions_are_listed_at_once(train: dict[str, Any]) -> None:
    put(train, "environment.env_id", "Hopper-v5")
    put(train, f"{EXTRAS}.track_wandb", True)
    put(train, "metadata.worker.config.algo", "")
    assert problems_of(train) == {
        "environment.env_id": "'Hopper-v5' is not the worker's 'Walker2d-v5'",
        f"{EXTRAS}.track_wandb": "is true but artifacts.wandb.enabled is false",
        "metadata.worker.config.algo": "is missing",
    }


def test_the_older_name_of_eval_episodes_works_alone_and_must_agree(policy_eval: dict[str, Any]) -> None:
    put(policy_eval, f"{EXTRAS}.eval_batch_size", 7)
    parsed = parse(policy_eval).metadata.worker.config.extras
    assert isinstance(parsed, PolicyEvalExtras)
    assert parsed.eval_episodes == 7
    put(policy_eval, f"{EXTRAS}.eval_episodes", 8)
    assert problems_of(policy_eval) == {f"{EXTRAS}.eval_batch_size": "7 is not eval_episodes"}
    put(policy_eval, f"{EXTRAS}.eval_episodes", ...)
    put(policy_eval, f"{EXTRAS}.eval_batch_size", 0)
    assert problems_of(policy_eval).keys() == {f"{EXTRAS}.eval_batch_size"}


def test_a_bare_worker_config_obeys_the_same_rules(train: dict[str, Any]) -> None:
    worker = train["metadata"]["worker"]["config"]
    assert parse_worker(worker) == parse(train).metadata.worker.config
    assert problems_of(worker | {"algo": ""}, parse_worker) == {"algo": "is missing"}
    assert problems_of(worker | {"x": 1, "seed": -1}, parse_worker).keys() == {"x", "seed"}
    twice = {"mode": "policy_eval", "policy_path": "p", "eval_episodes": 1, "eval_batch_size": 2}
    assert problems_of(worker | {"extras": twice}, parse_worker).keys() == {"extras.eval_batch_size"}


def test_parsing_leaves_the_document_as_it_was(train: dict[str, Any]) -> None:
    put(train, EXTRAS, ...)
    before = copy.deepcopy(train)
    parse(train)
    take_secrets(train)
    assert train == before


@pytest.mark.parametrize("path", ["wandb_api_key", f"{EXTRAS}.wandb_api_key", "metadata.ui.wandb_api_key"])
def test_a_secret_goes_to_the_environment_and_nowhere_else(path: str, train: dict[str, Any]) -> None:
    put(train, path, KEY)
    clean, secrets = take_secrets(train)
    assert secrets == {"WANDB_API_KEY": KEY}
    parsed = parse(clean)
    for written in (json.dumps(clean), json.dumps(config.to_json(parsed)), repr(parsed)):
        assert KEY not in written
        assert "wandb_api_key" not in written


def test_secrets_are_taken_out_of_lists_and_bare_worker_configs(train: dict[str, Any]) -> None:
    put(train, "metadata.ui.tabs", [{"wandb_api_key": KEY}])
    assert KEY not in json.dumps(take_secrets(train)[0])
    clean, secrets = take_secrets({"env_id": "E", "algo": "ppo", "extras": {"wandb_api_key": KEY}})
    assert secrets == {"WANDB_API_KEY": KEY}
    assert parse_worker(clean).extras == TrainExtras()


NESTED = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "extras", "metadata"]), inner, max_size=3)
        | st.fixed_dictionaries({"wandb_api_key": st.just(KEY)}, optional={"more": inner})
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=3), NESTED, max_size=3))
def test_a_secret_survives_nowhere_in_any_document(data: dict[str, Any]) -> None:
    clean, secrets = take_secrets(data)
    assert "wandb_api_key" not in json.dumps(clean)
    assert bool(secrets) == (KEY in json.dumps(data))


@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_secret_is_no_secret(empty: object, train: dict[str, Any]) -> None:
    put(train, f"{EXTRAS}.wandb_api_key", empty)
    clean, secrets = take_secrets(train)
    assert secrets == {}
    assert "wandb_api_key" not in clean["metadata"]["worker"]["config"]["extras"]


def test_a_secret_that_is_no_text_is_refused_without_showing_it(train: dict[str, Any]) -> None:
    put(train, f"{EXTRAS}.wandb_api_key", 987654321)
    with pytest.raises(ConfigError, match="wandb_api_key") as caught:
        take_secrets(train)
    assert "987654321" not in str(caught.value)


def test_a_secret_that_was_not_taken_out_is_refused_without_showing_it(train: dict[str, Any]) -> None:
    put(train, f"{EXTRAS}.wandb_api_key", KEY)
    with pytest.raises(ConfigError) as caught:
        parse(train)
    assert KEY not in str(caught.value)


def described_objects(schema: Any) -> dict[str, Any]:
    return {"TrainRunConfig": schema} | {
        name: definition for name, definition in schema["$defs"].items() if "properties" in definition
    }


def test_the_schema_describes_every_field_of_every_part() -> None:
    schema: Any = config.json_schema(TrainRunConfig)
    for part, described in described_objects(schema).items():
        for name, rules in described["properties"].items():
            text = rules.get("description") or schema["$defs"][rules["$ref"].rpartition("/")[2]]["description"]
            assert text, f"{part}.{name}"
            assert "default" in rules or name in described["required"], f"{part}.{name}"
