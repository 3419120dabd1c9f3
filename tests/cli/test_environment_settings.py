"""Settings of an environment, from the command line through daemon and worker into run, policy, evaluation and play."""

import json
from pathlib import Path
from typing import Any

import pytest

from mosaic.rpc.client import Client, Refused
from mosaic.spec import policy_facts
from mosaic.spec.run_dir import Home

LAKE = ("--env-id", "FrozenLake-v1", "--env.is_slippery", "false", "--env.map_name", "8x8")
SETTINGS = {"is_slippery": False, "map_name": "8x8"}


def content(run_id: str, name: str) -> Any:
    return json.loads((Home.resolve().run(run_id).root / name).read_text())


@pytest.fixture(scope="module")
def lake(mosaic) -> str:
    """A run in a frozen lake of 8 × 8 that does not slip."""
    said = mosaic("train", "ppo", *LAKE, "--total-timesteps", "1024", "--label", "lake", "--follow", "--json")
    assert said.code == 0, said.err
    return said.objects[-1]["run_id"]


def test_a_run_has_its_settings_in_config_manifest_and_policy(lake):
    assert content(lake, "config.json")["environment"] == {"env_id": "FrozenLake-v1", "settings": SETTINGS}
    manifest = content(lake, "analytics.json")
    assert manifest["env_settings"] == SETTINGS
    [policy] = [artifact["path"] for artifact in manifest["artifacts"] if artifact["kind"] == "policy"]
    facts = policy_facts.read(Home.resolve().run(lake).root / policy)
    assert facts.env_settings == SETTINGS
    with Client() as client:
        assert client.describe_policy(str(facts.path)).env_settings == SETTINGS
        assert next(one for one in client.policies() if one.run_id == lake).env_settings == SETTINGS


def test_an_evaluation_repeats_the_settings_of_the_training_and_says_so(mosaic, lake):
    said = mosaic("evaluate", lake, "--episodes", "2", "--json")
    assert said.code == 0, said.err
    assert "FrozenLake-v1 with is_slippery=false, map_name=8x8, as in its training" in said.err
    environment = content(said.objects[-1]["run_id"], "config.json")["environment"]
    assert environment == {"env_id": "FrozenLake-v1", "settings": SETTINGS}


def test_an_evaluation_does_otherwise_where_that_is_asked_for(mosaic, lake):
    said = mosaic("evaluate", lake, "--env.is_slippery", "true", "--episodes", "2", "--json")
    assert said.code == 0, said.err
    assert "as in its training, but for is_slippery=true" in said.err
    settings = content(said.objects[-1]["run_id"], "config.json")["environment"]["settings"]
    assert settings == {"is_slippery": True, "map_name": "8x8"}


def test_python_evaluates_with_the_settings_of_the_training(lake):
    with Client() as client:
        policy = next(one for one in client.policies() if one.run_id == lake)
        run = client.evaluate(policy, episodes=1, env_settings={"max_episode_steps": 5})
        client.wait(run.run_id)
    assert content(run.run_id, "config.json")["environment"]["settings"] == {**SETTINGS, "max_episode_steps": 5}


def test_settings_as_json_reach_the_simulator(mosaic):
    said = mosaic(
        *("train", "ppo", "--env-id", "LunarLander-v3", "--env-kwargs", '{"gravity": -5}', "--env.max_episode_steps=7"),
        *("--total-timesteps", "512", "--follow", "--json"),
    )
    assert said.code == 0, said.err
    run_id = said.objects[-1]["run_id"]
    assert content(run_id, "config.json")["environment"]["settings"] == {"gravity": -5, "max_episode_steps": 7}
    events = (Home.resolve().run(run_id).root / "events.jsonl").read_text().splitlines()
    lengths = [line["episodic_length"] for line in map(json.loads, events) if line["kind"] == "episode"]
    assert lengths
    assert max(lengths) == 7


def test_a_setting_that_changes_the_actions_changes_which_algorithms_fit(mosaic):
    words = ("--env-id", "LunarLander-v3", "--env.continuous", "--dry-run")
    assert mosaic("train", "ppo_continuous_action", *words).code == 0
    said = mosaic("train", "ppo", *words)
    assert said.code == 2
    assert "--env-id: ppo needs discrete or multi_discrete actions, LunarLander-v3 has continuous actions" in said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("train ppo --env-id FrozenLake-v1 --env.is_slipery false", "did you mean is_slippery?"),
        ("train ppo --env-id FrozenLake-v1 --env.map_name 9x9", "--env.map_name: must be one of 4x4, 8x8 (got 9x9)"),
        ("train ppo --env-id LunarLander-v3 --env.gravity 5", "--env.gravity: must be a number, greater than -12"),
        ("train ppo --env-id CartPole-v1 --env.gravity 5", "--env.gravity: is not a setting of CartPole-v1; it has"),
        ("evaluate lake --env.map_name 9x9", "--env.map_name: must be one of 4x4, 8x8"),
        ("play FrozenLake-v1 --env.slip true --detach", "--env.slip: is not a setting of FrozenLake-v1"),
        ("play classic/go-v5 --env.board_size 50 --detach", "--env.board_size: must be a whole number, at least 2"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_made(mosaic, lake, words, said):
    before = sorted(Home.resolve().runs.iterdir())
    got = mosaic(*words.split())
    assert got.code == 2, got
    assert said in got.err
    assert "'mosaic envs ENV' shows the settings of an environment" in got.err
    assert sorted(Home.resolve().runs.iterdir()) == before


def test_a_setting_that_pictures_cannot_have_is_refused_at_submit(mosaic):
    said = mosaic("train", "ppo_atari", "--env-id", "ALE/Pong-v5", "--env.obs_type", "ram")
    assert said.code == 2
    assert "--env.obs_type: algorithms on pictures see grey ones of 84×84" in said.err


def test_the_daemon_refuses_what_another_client_sends(mosaic):
    with Client() as client, pytest.raises(Refused, match=r"--env\.is_slipery: is not a setting of FrozenLake-v1"):
        client.train("ppo", env_id="FrozenLake-v1", total_timesteps=1024, env_settings={"is_slipery": False})


def test_a_worker_refuses_settings_of_an_environment_that_only_it_knows(mosaic):
    said = mosaic("train", "ppo", "--env-id", "resting:Resting-v0", "--env.nap", "3")
    assert said.code == 2
    assert "--env.nap: " in said.err


def test_a_script_makes_its_environments_itself(mosaic):
    said = mosaic("train", "--script", "some.py", "--env.is_slippery", "false")
    assert said.code == 2
    assert "a script makes its environments itself" in said.err


def test_an_environment_is_shown_with_its_settings(mosaic):
    said = mosaic("envs", "FrozenLake-v1")
    assert said.code == 0
    assert "Discrete(4)" in said.out
    assert "--env.map_name = 4x4" in said.out
    assert "(one of 4x4, 8x8)" in said.out
    [found] = mosaic("envs", "ALE/Breakout-v5", "--json").objects
    assert found["settings"]["properties"]["repeat_action_probability"]["maximum"] == 1


def test_play_records_the_settings_and_replays_with_them(mosaic):
    said = mosaic("play", *LAKE[1:], "--episodes", "2", "--seed", "4", "--json")
    assert said.code == 0, said.err
    run_id = said.objects[-1]["run_id"]
    assert content(run_id, "analytics.json")["env_settings"] == SETTINGS
    episode = next((Home.resolve().run(run_id).root / "episodes").glob("*.jsonl"))
    head = json.loads(episode.read_text().splitlines()[0])
    assert head["env_settings"] == SETTINGS
    again = mosaic("replay", run_id, "--episode", "2")
    assert (again.code, "bit for bit" in again.out) == (0, True), again.err


def test_a_policy_plays_with_the_settings_that_it_was_trained_with(mosaic, lake):
    said = mosaic("play", "FrozenLake-v1", "--actor", f"policy:{lake}", "--json")
    assert said.code == 0, said.err
    assert content(said.objects[-1]["run_id"], "config.json")["environment"]["settings"] == SETTINGS


def test_a_game_for_several_is_played_with_its_settings(mosaic):
    said = mosaic("play", "classic/go-v5", "--env.board_size", "5", "--json")
    assert said.code == 0, said.err
    run_id = said.objects[-1]["run_id"]
    steps = [
        json.loads(line)
        for path in sorted(Path(Home.resolve().run(run_id).root / "episodes").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    actions = [line["action"] for line in steps if line["kind"] == "step"]
    assert max(actions) <= 25


def test_a_match_is_played_with_settings(mosaic):
    said = mosaic(
        "match",
        "classic/go-v5",
        "--env.board_size",
        "3",
        "--actor",
        "random",
        "--actor",
        "random",
        "--games",
        "2",
        "--json",
    )
    assert said.code == 0, said.err
    [run_id, *_] = said.objects[-1]["runs"]
    assert content(run_id, "config.json")["environment"]["settings"] == {"board_size": 3}


def test_a_run_is_shown_with_its_settings(mosaic, lake):
    assert "is_slippery=false, map_name=8x8" in mosaic("show", lake).out
