"""A policy file alone is enough to act: the same seed gives the same returns, anywhere and every time."""

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from worker_cases import CASES, Case
from worker_runs import (
    board_of,
    evaluated_returns,
    events_of,
    kinds,
    new_run,
    policy_of,
    started,
    wait_until,
)

from cleanrl_worker import cli, evaluate
from cleanrl_worker.sdk import policy
from mosaic import config
from mosaic.spec import identity, manifest, run_config
from mosaic.spec.events import Episode, EvalBatch, RunCompleted, RunStarted
from mosaic.spec.run_dir import RunDir

FEW = "--episodes=12"  # More than the parallel environments, so that some play twice.


def eval_config(policy_file: Path, **changes: Any) -> dict[str, Any]:
    extras = {"mode": "policy_eval", "policy_path": str(policy_file), "eval_episodes": 12} | changes
    worker = {"env_id": "CartPole-v1", "seed": 5, "extras": extras}
    return {
        "run_name": "look at it",
        "environment": {"env_id": "CartPole-v1"},
        "artifacts": {"tensorboard": {"enabled": True}, "wandb": {"enabled": False}},
        "metadata": {"worker": {"module": "cleanrl_worker.cli", "config": worker}},
    }


@pytest.fixture
def ppo_policy(straight_runs: Callable[[Case], RunDir]) -> Path:
    return policy_of(straight_runs(CASES["ppo"]))


def test_the_same_seed_gives_the_same_returns(case: Case, straight: RunDir, tmp_path: Path) -> None:
    path = policy_of(straight)
    first = evaluated_returns(new_run(tmp_path), path, FEW)
    assert len(first) == 12
    assert evaluated_returns(new_run(tmp_path), path, FEW) == first
    assert evaluated_returns(new_run(tmp_path), path, FEW, "--seed=2") != first


def test_the_file_alone_in_an_empty_folder_gives_the_same_returns(
    case: Case, straight: RunDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = evaluated_returns(new_run(tmp_path), policy_of(straight), FEW, "--deterministic")
    alone, runs = tmp_path / "alone", tmp_path / "runs"
    alone.mkdir()
    shutil.copy(policy_of(straight), alone / "some_name")
    monkeypatch.chdir(alone)
    assert evaluated_returns(new_run(runs), Path("some_name"), FEW, "--deterministic") == wanted
    assert [path.name for path in alone.iterdir()] == ["some_name"]


def test_an_evaluation_leaves_a_run_directory(ppo_policy: Path, run_dir: RunDir) -> None:
    returns = evaluated_returns(run_dir, ppo_policy, FEW)
    events = events_of(run_dir)
    assert isinstance(events[0].body, RunStarted)
    told = [kind for kind in kinds(events)[1:] if kind != "fastlane.opened"]
    assert told == ["scalars"] * 12 + ["eval.batch", "run.completed"]
    assert events[-1].body == RunCompleted(global_step=12)
    [summary] = json.loads(run_dir.eval_summary.read_text())
    assert summary["mean"] == pytest.approx(np.mean(returns))
    assert (summary["min"], summary["max"], summary["episodes"]) == (min(returns), max(returns), 12)
    board = board_of(run_dir.tensorboard_eval)
    assert [point.value for point in board.Scalars("eval/episodic_return")] == returns
    found = manifest.read(run_dir)
    assert found.mode == "policy_eval"
    assert {artifact.kind for artifact in found.artifacts} == {"events", "log", "tensorboard", "eval_summary"}
    assert all((run_dir.root / artifact.path).exists() for artifact in found.artifacts)
    kept = run_config.parse(config.loads(run_dir.config.read_bytes())).metadata.worker.config
    assert isinstance(kept.extras, run_config.PolicyEvalExtras)
    assert (kept.algo, kept.extras.policy_path, kept.extras.eval_episodes) == ("ppo", str(ppo_policy), 12)
    assert identity.read(run_dir.worker).attempt == 1


def test_the_worker_evaluates_what_a_config_asks_for(ppo_policy: Path, run_dir: RunDir, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(eval_config(ppo_policy, seed_override=9, tensorboard_dir="boards")))
    assert cli.main(["--config", str(file), "--run-dir", str(run_dir.root)]) == 0
    first = events_of(run_dir)[0].body
    assert isinstance(first, RunStarted)
    assert (first.seed, first.algo) == (9, "ppo")
    assert (run_dir.root / "boards").is_dir()
    kept = run_config.parse(config.loads(run_dir.config.read_bytes()))
    assert kept.run_name == "look at it"
    again = new_run(tmp_path)
    assert cli.main(["--config", str(run_dir.config), "--run-dir", str(again.root)]) == 0
    assert again.config.read_text() == run_dir.config.read_text()
    assert [e.body for e in events_of(again) if e.body.kind == "scalars"] == [
        e.body for e in events_of(run_dir) if e.body.kind == "scalars"
    ]


def test_flags_override_the_config_of_an_evaluation(ppo_policy: Path, run_dir: RunDir, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(eval_config(ppo_policy)))
    assert cli.main(["--config", str(file), "--episodes=3", "--run-dir", str(run_dir.root)]) == 0
    assert [e.body.episodes for e in events_of(run_dir) if isinstance(e.body, EvalBatch)] == [3]


def test_a_dry_run_of_an_evaluation_writes_nothing(
    ppo_policy: Path, own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(eval_config(ppo_policy)))
    assert cli.main(["--config", str(file), "--dry-run", "--emit-summary"]) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (summary["ok"], summary["mode"], summary["algo"], summary["episodes"]) == (True, "policy_eval", "ppo", 12)
    assert not own_home.exists()


def test_asked_to_stop_a_repeating_evaluation_is_finished_with_what_it_has(
    ppo_policy: Path, run_dir: RunDir, tmp_path: Path
) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(eval_config(ppo_policy, eval_repeat=True)))
    with started("--config", str(file), "--run-dir", str(run_dir.root)) as process:
        assert wait_until(lambda: run_dir.eval_summary.exists(), process)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said.decode()
    batches = [event.body for event in events_of(run_dir) if isinstance(event.body, EvalBatch)]
    assert [body.batch for body in batches] == list(range(1, len(batches) + 1))
    assert len(json.loads(run_dir.eval_summary.read_text())) == len(batches) >= 1
    assert events_of(run_dir)[-1].body == RunCompleted(global_step=12 * len(batches), stopped=False)


def test_no_two_batches_begin_alike(ppo_policy: Path, run_dir: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    def play(_: object, vector: Any, episodes: int, *, seed: int, **__: object) -> list[Episode]:
        seeds.extend(range(seed, seed + vector.num_envs))
        if len(seeds) == 3 * vector.num_envs:
            os.kill(os.getpid(), signal.SIGTERM)
        return [Episode(global_step=1, slot=0, episodic_return=1.0, episodic_length=1)] * episodes

    monkeypatch.setattr(evaluate, "play", play)
    assert len(evaluated_returns(run_dir, ppo_policy, FEW, "--repeat")) == 36
    assert len(set(seeds)) == len(seeds) == 30


def test_short_episodes_are_not_over_represented() -> None:
    """Two environments, one with episodes ten times as long: each plays its quota."""

    class Uneven:
        num_envs = 2
        single_observation_space = single_action_space = None

        def __init__(self) -> None:
            self.tick = 0

        def reset(self, *, seed: int) -> Any:
            return np.zeros((2, 1)), {}

        def step(self, actions: Any) -> Any:
            self.tick += 1
            ended = np.array([True, self.tick % 10 == 0])
            totals = np.array([1.0, 10.0])
            infos = {"_final_obs": ended, "episode_return": totals, "episode_length": totals.astype(int)}
            return np.zeros((2, 1)), totals, ended, ended, infos

    class Idle:
        def act(self, observations: Any, generator: Any, *, deterministic: bool) -> Any:
            return np.zeros(2)

    played = evaluate.play(Idle(), Uneven(), 5, seed=1, deterministic=True)  # type: ignore[arg-type]
    assert sorted(episode.episodic_return for episode in played) == [1, 1, 1, 10, 10]


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ([], "--policy-path: is missing"),
        (["--policy-path=nowhere"], "nowhere cannot be read as a policy"),
        (["--policy-path={policy}", "--episodes=0"], "--episodes: must be greater than or equal to 1"),
        (["--policy-path={policy}", "--seed=-1"], "--seed: must be greater than or equal to 0"),
        (["--policy-path={policy}", "--env-id=Acrobot-v1"], "evaluate it in CartPole-v1"),
        (["--policy-path={policy}", "--env-id=CartPol-v1"], "did you mean CartPole-v1?"),
        (["--policy-path={policy}", "--run-dir=here"], "'here' is not a run id"),
        (["--policy-pat", "x"], "--policy-path"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_flags_of_an_evaluation_say_why(
    flags: list[str], complaint: str, ppo_policy: Path, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = evaluate.main([flag.format(policy=ppo_policy) for flag in flags])
    except SystemExit as ended:  # The parser ends the process itself.
        code = ended.code
    said = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert (code, complaint in said) == (2, True), said
    assert not own_home.exists()


def test_a_policy_of_another_shape_is_refused(
    ppo_policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = policy.read(ppo_policy)
    path = tmp_path / "wrong.cleanrl_model"
    smaller = {name: array[:2] for name, array in file.arrays.items()}
    policy.write(path, policy.PolicyFile(**vars(file) | {"arrays": smaller}))
    assert evaluate.main(["--policy-path", str(path)]) == 2
    assert "does not fit 'ppo' of this version" in capsys.readouterr().err


def test_a_policy_of_an_unknown_algorithm_is_refused(
    ppo_policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = policy.read(ppo_policy)
    path = tmp_path / "new.cleanrl_model"
    policy.write(path, policy.PolicyFile(**vars(file) | {"algo": "dpn"}))
    assert evaluate.main(["--policy-path", str(path)]) == 2
    assert "algorithm 'dpn' is not known; did you mean dqn" in capsys.readouterr().err


def test_a_foreign_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_file({"w": np.zeros(3)}, tmp_path / "x")
    assert evaluate.main(["--policy-path", str(tmp_path / "x")]) == 2
    assert "not a MOSAIC policy" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"algo_params": {"seed": 1}}, "extras.algo_params: is not available in this version"),
        ({"eval_episodes": 0}, "eval_episodes: must be greater than or equal to 1"),
        ({"policy_path": ""}, "policy_path"),
        ({"seed_override": -3}, "must be greater than or equal to 0 (got -3)"),
    ],
    ids=str,
)
def test_a_bad_config_of_an_evaluation_says_why(
    changes: dict[str, Any],
    complaint: str,
    ppo_policy: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(eval_config(ppo_policy, **changes)))
    assert cli.main(["--config", str(file)]) == 2
    assert complaint in capsys.readouterr().err
