"""The worker alone, with wrappers that keep something over episodes: a resumed run is the straight one, bit for bit."""

import json
from pathlib import Path

import pytest
from worker_runs import curve_of, evaluated_returns, final_files, new_run, policy_of, resume, train

from cleanrl_worker import cli
from cleanrl_worker.sdk import policy
from mosaic.spec.run_dir import RunDir

CART = (
    "--algo=ppo",
    "--env-id=CartPole-v1",
    "--wrap=NormalizeObservation",
    "--wrap=NormalizeReward:gamma=0.9",
    "--wrap=TimeLimit:60",
    "--num-envs=2",
    "--num-steps=64",
    "--no-fastlane-enabled",
    "--no-anneal-lr",
    "--checkpoint-interval-steps=128",
)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    run_dir = new_run(tmp_path_factory.mktemp("wrapped"))
    train(run_dir, *CART, "--total-timesteps", "1024")
    return run_dir


def test_a_run_goes_on_exactly_with_its_wrappers(straight: RunDir, tmp_path: Path) -> None:
    run_dir = new_run(tmp_path)
    train(run_dir, *CART, "--total-timesteps", "512")
    resume(run_dir, "--total-timesteps", "1024")
    assert curve_of(run_dir) == curve_of(straight)
    assert final_files(run_dir)["policy"] == final_files(straight)["policy"]


def test_a_run_does_not_go_on_with_other_wrappers(straight: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--resume", str(straight.root), "--no-wrap", "--total-timesteps", "2048"]) == 2
    assert "--wrap TimeLimit:max_episode_steps=60" in capsys.readouterr().err


def test_a_policy_normalises_by_the_moments_of_its_training(straight: RunDir, tmp_path: Path) -> None:
    [normaliser, *_] = policy.read(policy_of(straight)).env_settings["wrappers"]
    assert normaliser["moments"]["count"] > 500
    evaluated = new_run(tmp_path)
    evaluated_returns(evaluated, policy_of(straight), "--episodes=2", "--no-fastlane-enabled")
    [played, *_] = json.loads(evaluated.config.read_text())["environment"]["settings"]["wrappers"]
    assert played == normaliser


def test_an_algorithm_on_pictures_refuses_a_wrapper_that_makes_something_else_of_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--algo=ppo_atari", "--env-id=ALE/Pong-v5", "--wrap=NormalizeObservation", "--dry-run"]
    assert cli.main(words) == 2
    assert "--wrap: ppo_atari learns from stacks of four grey pictures" in capsys.readouterr().err
