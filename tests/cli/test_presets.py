"""Presets on the command line: trained with, overridden, listed, saved, compared, deleted; and what is refused."""

import json
from typing import Any

import pytest

from mosaic.rpc.client import Client
from mosaic.spec.run_dir import Home


def config_of(run_id: str) -> dict[str, Any]:
    return json.loads((Home.resolve().run(run_id).root / "config.json").read_text())


def settings_of(run_id: str) -> dict[str, Any]:
    worker = config_of(run_id)["metadata"]["worker"]["config"]
    return worker["extras"]["algo_params"] | {"total_timesteps": worker["total_timesteps"]}


@pytest.fixture(scope="module")
def tuned(mosaic) -> str:
    """A run with a preset, of which the command line changes one setting."""
    words = ("--env-id", "CartPole-v1", "--preset", "tuned", "--total-timesteps", "2048")
    said = mosaic("train", "ppo", *words, "--follow", "--json")
    assert said.code == 0, said.err
    return said.objects[-1]["run_id"]


def test_a_run_has_the_settings_of_the_preset_and_the_command_line_beats_it(mosaic, tuned):
    settings = settings_of(tuned)
    assert (settings["num_envs"], settings["update_epochs"], settings["learning_rate"]) == (8, 20, 1e-3)
    assert settings["total_timesteps"] == 2048
    assert config_of(tuned)["metadata"]["ui"]["preset"]["settings"]["total_timesteps"] == 100_000
    assert "tuned, but total_timesteps=2048 (100000)" in mosaic("show", tuned).out


def test_python_trains_with_a_preset(tuned):
    with Client() as client:
        [run] = client.train(
            "ppo", env_id="CartPole-v1", preset="tuned", total_timesteps=256, settings={"update_epochs": 1}
        )
        client.wait(run.run_id)
    settings = settings_of(run.run_id)
    assert (settings["num_envs"], settings["update_epochs"], settings["total_timesteps"]) == (8, 1, 256)


def test_a_sweep_starts_from_a_preset(mosaic):
    said = mosaic("sweep", "ppo", "--env-id", "CartPole-v1", "--preset", "tunde", "--trials", "2", "--detach")
    assert said.code == 2
    assert "did you mean tuned" in said.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ppo", "--env-id", "CartPole-v1", "--preset", "tund"), "did you mean tuned?"),
        (("ppo", "--env-id", "Taxi-v4", "--preset", "tuned"), "says nothing about another"),
        (("ppo", "--preset"), "which one"),
        (("ppo", "--preset", "tuned", "--preset", "mine"), "contradict each other"),
        (("ppo", "--preset", "/nowhere/at-all.json"), "at-all.json: no file"),
    ],
)
def test_what_no_run_can_be_made_of_is_refused(mosaic, words, message):
    said = mosaic("train", *words)
    assert said.code != 0
    assert message in said.err
    assert "Traceback" not in said.err


def test_own_presets_are_saved_of_a_run_or_of_flags_listed_and_deleted(mosaic, tuned):
    assert mosaic("presets", "save", "of a run", tuned).code == 0
    flags = ("ppo", "--env-id", "FrozenLake-v1", "--env.is_slippery", "false", "--gamma", "0.9", "--cpus", "2")
    said = mosaic("presets", "save", "still", *flags)
    assert "preset still: ppo in FrozenLake-v1 (is_slippery=false), 1 settings" in said.out
    listed = {(one["name"], one["environment"]["env_id"]) for one in mosaic("presets", "--json").objects}
    assert {("of a run", "CartPole-v1"), ("still", "FrozenLake-v1"), ("tuned", "CartPole-v1")} <= listed
    trained = mosaic("train", "ppo", "--preset", "still", "--total-timesteps", "512", "--follow", "--json")
    assert trained.code == 0, trained.err
    run_id = trained.objects[-1]["run_id"]
    assert config_of(run_id)["environment"] == {"env_id": "FrozenLake-v1", "settings": {"is_slippery": False}}
    assert config_of(run_id)["resources"]["cpus"] == 2
    assert "gamma" in mosaic("presets", "show", "still").out
    assert mosaic("presets", "delete", "still").code == 0
    assert mosaic("presets", "show", "still").code == 2
    assert mosaic("presets", "delete", "of a run").code == 0


def test_a_preset_is_compared_with_the_defaults(mosaic):
    rows = mosaic("presets", "diff", "tuned", "ppo", "CartPole-v1", "--json").objects
    assert {"setting": "gamma", "preset": 0.98, "default": 0.99} in rows
    said = mosaic("presets", "show", "ppo", "CartPole-v1")
    assert "5 seeds of 100,000 steps, last 100 episodes" in said.out
    assert "rl-zoo3" in said.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show", "tuned"), "may mean"),
        (("show", "CartPol-v1"), "did you mean CartPole-v1"),
        (("delete", "ppo", "CartPole-v1"), "cannot be deleted"),
        (("save",), "under which name"),
        (("save", "quick"), "of what"),
        (("save", "quick", "@nothing"), "@nothing"),
        (("save", "tuned", "ppo", "--gamma", "0.9", "--env-id", "CartPole-v1"), "choose another name"),
        (("nothing-like-this",), "lists what there is"),
    ],
)
def test_what_is_wrong_with_a_command_is_said(mosaic, words, message):
    said = mosaic("presets", *words)
    assert said.code != 0
    assert message in said.err
    assert "Traceback" not in said.err


def test_a_damaged_preset_of_a_user_is_told_apart_from_the_others(mosaic):
    folder = Home.resolve().root / "presets"
    folder.mkdir(exist_ok=True)
    broken = folder / "broken.json"
    broken.write_text("{")
    try:
        said = mosaic("presets")
        assert said.code == 0
        assert "tuned" in said.out
        assert "broken.json" in said.err
    finally:
        broken.unlink()
