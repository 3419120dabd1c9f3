"""The worker alone: settings from flags and files, kept by checkpoints and policies, gone on with exactly."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors import safe_open
from worker_runs import curve_of, evaluated_returns, final_files, new_run, policy_of, resume, run_command, train

from cleanrl_worker import cli
from cleanrl_worker.sdk import policy
from cleanrl_worker.sdk.checkpoints import checkpoint
from mosaic.spec.run_dir import RunDir
from mosaic.track.run_description import about

LAKE = (
    "--algo",
    "ppo",
    "--env-id",
    "FrozenLake-v1",
    "--env.is_slippery",
    "false",
    "--env-kwargs",
    '{"map_name": "8x8"}',
)
SMALL = ("--num-envs", "2", "--num-steps", "64", "--no-fastlane-enabled")
SETTINGS = {"is_slippery": False, "map_name": "8x8"}


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    run_dir = new_run(tmp_path_factory.mktemp("straight"))
    train(run_dir, *LAKE, *SMALL, "--total-timesteps", "1024", "--checkpoint-interval-steps", "128", "--no-anneal-lr")
    return run_dir


def test_a_run_goes_on_exactly_with_its_settings(straight: RunDir, tmp_path: Path) -> None:
    run_dir = new_run(tmp_path)
    flags = (*LAKE, *SMALL, "--checkpoint-interval-steps", "128", "--no-anneal-lr")
    train(run_dir, *flags, "--total-timesteps", "512")
    resume(run_dir, "--total-timesteps", "1024")
    assert curve_of(run_dir) == curve_of(straight)
    assert policy.read(policy_of(run_dir)).env_settings == SETTINGS
    assert final_files(run_dir)["policy"] == final_files(straight)["policy"]


def test_a_run_does_not_go_on_in_another_environment(straight: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--resume", str(straight.root), "--env.is_slippery", "true", "--total-timesteps", "2048"]) == 2
    said = capsys.readouterr().err
    assert "was saved in an environment with map_name=8x8, is_slippery=false" in said
    assert "not with map_name=8x8, is_slippery=true; start another run for that" in said


def test_a_checkpoint_of_an_earlier_version_has_no_settings(straight: RunDir) -> None:
    folder = checkpoint.latest(straight)
    assert folder is not None
    document = json.loads((folder / "state.json").read_text())
    assert document["env_settings"] == SETTINGS
    del document["env_settings"]
    assert checkpoint._header(document, folder).env_settings == {}


def test_a_policy_is_evaluated_where_it_was_trained(straight: RunDir, tmp_path: Path) -> None:
    same, asked = new_run(tmp_path), new_run(tmp_path)
    evaluated_returns(same, policy_of(straight), "--episodes=2", "--no-fastlane-enabled")
    evaluated_returns(asked, policy_of(straight), "--episodes=2", "--env.is_slippery=true", "--no-fastlane-enabled")
    settings = [json.loads(run.config.read_text())["environment"]["settings"] for run in (same, asked)]
    assert settings == [SETTINGS, {**SETTINGS, "is_slippery": True}]


def test_a_policy_without_settings_says_nothing_of_them(straight: RunDir, tmp_path: Path) -> None:
    """As those of earlier versions, which still open."""
    file = policy.read(policy_of(straight))
    policy.write(tmp_path / "old.cleanrl_model", replace(file, env_settings={}))
    with safe_open(tmp_path / "old.cleanrl_model", framework="numpy") as opened:
        assert "env_settings" not in opened.metadata()
    assert policy.read(tmp_path / "old.cleanrl_model").env_settings == {}


def test_trackers_and_tensorboard_are_told(straight: RunDir) -> None:
    told = about(straight).settings
    assert (told["env.is_slippery"], told["env.map_name"]) == (False, "8x8")
    assert told["mosaic"]["config"]["environment"]["settings"] == SETTINGS


def test_a_dry_run_tries_the_settings() -> None:
    done = run_command(*LAKE, "--dry-run", "--emit-summary")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["env_settings"] == SETTINGS
    assert summary["observation_space"] == "Discrete(64)"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            ("--env.is_slipery", "false"),
            "--env.is_slipery: is not a setting of FrozenLake-v1; did you mean is_slippery?",
        ),
        (("--env.success_rate", "2"), "--env.success_rate: must be a number, at least 0 and at most 1 (got 2)"),
        (("--env-kwargs", "no"), "--env-kwargs: not JSON"),
    ],
)
def test_wrong_settings_are_refused(flags: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--algo", "ppo", "--env-id", "FrozenLake-v1", *flags]) == 2
    assert said in capsys.readouterr().err


def test_a_backend_that_does_not_know_a_setting_steps_aside_aloud(tmp_path: Path) -> None:
    run_dir = new_run(tmp_path)
    flags = ("--algo", "ppo", "--env-id", "MountainCar-v0", "--env.goal_velocity", "0.01", "--env-backend", "native")
    train(run_dir, *flags, *SMALL, "--total-timesteps", "128")
    warnings = [line for line in run_dir.events.read_text().splitlines() if "steps aside" in line]
    assert "--env-backend native steps aside for bare" in warnings[0]
