"""A policy file alone is enough to act: the same seed gives the same returns, anywhere and every time."""

import json
import os
import resource
import shutil
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
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
    started_cold,
    wait_until,
)

from cleanrl_worker import cli, evaluate
from cleanrl_worker.sdk import policy
from cleanrl_worker.sdk.evaluation import eval_batches
from mosaic import config, envs
from mosaic.spec import manifest, run_config
from mosaic.spec.events import EvalBatch, RunCompleted, RunStarted
from mosaic.spec.processes import process_identity
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
    assert summary["median"] == np.median(returns)
    assert summary["iqm"] == pytest.approx(np.mean(sorted(returns)[3:9]))
    assert summary["iqm_low"] < summary["iqm"] < summary["iqm_high"]
    assert (summary["min_length"], summary["max_length"]) == (min(returns), max(returns))  # CartPole: 1 a step.
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
    assert process_identity.read(run_dir.worker).attempt == 1


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
        _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said.decode()
    batches = [event.body for event in events_of(run_dir) if isinstance(event.body, EvalBatch)]
    assert [body.batch for body in batches] == list(range(1, len(batches) + 1))
    assert len(json.loads(run_dir.eval_summary.read_text())) == len(batches) >= 1
    assert events_of(run_dir)[-1].body == RunCompleted(global_step=12 * len(batches), stopped=False)


def test_no_two_episodes_of_an_evaluation_have_the_same_seed() -> None:
    seeds = [seed for batch in range(3) for seed in eval_batches.batch_seeds(2**32 - 7, batch, 12)]
    assert len(set(seeds)) == len(seeds) == 36
    assert (seeds[0], max(seeds)) == (2**32 - 7, 2**32 - 1)


def test_the_history_of_a_repeating_evaluation_is_kept(
    ppo_policy: Path, run_dir: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of batches that follow each other faster than the file is written."""
    right, batches = eval_batches.play, iter(range(4))

    def play(*args: Any, **kwargs: Any) -> Any:
        if next(batches) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
            kwargs["stop"] = lambda: False
        return right(*args, **kwargs)

    monkeypatch.setattr(eval_batches, "play", play)
    returns = evaluated_returns(run_dir, ppo_policy, "--episodes=3", "--repeat")
    summaries = json.loads(run_dir.eval_summary.read_text())
    assert [summary["batch"] for summary in summaries] == [1, 2, 3]
    assert [summary["seed"] for summary in summaries] == [1, 4, 7]
    assert [summary["mean"] for summary in summaries] == pytest.approx(np.mean(np.reshape(returns, (3, 3)), axis=1))
    [entry] = [each for each in manifest.read(run_dir).artifacts if each.kind == "eval_summary"]
    assert entry.label == "3 batches, 9 episodes"
    told = [event.body for event in events_of(run_dir) if isinstance(event.body, EvalBatch)]
    assert [(body.iqm, body.iqm_low, body.seed) for body in told] == [
        (summary["iqm"], summary["iqm_low"], summary["seed"]) for summary in summaries
    ]


class Constant:
    """A policy that always does the same."""

    def __init__(self, action: int) -> None:
        self.action = action
        self.begun: list[list[float]] = []

    def act(self, observations: Any, generator: Any, *, deterministic: bool) -> Any:
        # CartPole begins within ±0.05, all four of them.
        self.begun += [row.tolist() for row in observations if np.abs(row).max() <= 0.05]
        return np.full(len(observations), self.action)


@pytest.mark.parametrize("backend", ["bare", "sync"])
def test_two_policies_meet_the_same_episodes(backend: Any) -> None:
    wanted = [gymnasium.make("CartPole-v1").reset(seed=seed)[0].tolist() for seed in range(5, 12)]
    lengths: list[list[int]] = []
    for action in (0, 1):
        with closing(envs.make_vec("CartPole-v1", 3, backend=backend)) as vector:
            actor = Constant(action)
            played = eval_batches.play(actor, vector, eval_batches.Quotas(range(5, 12)), deterministic=True)
            assert played is not None
            assert [row for row in wanted if row not in actor.begun] == []
            lengths.append([episode.episodic_length for episode in played])
    alone: list[int] = []
    for seed in range(5, 12):
        with closing(envs.make_vec("CartPole-v1", 1)) as vector:
            [episode] = eval_batches.play(Constant(0), vector, eval_batches.Quotas([seed]), deterministic=True) or ()
            alone.append(episode.episodic_length)
    assert lengths[0] == alone, "an episode depends on its seed alone, not on its neighbours"
    assert lengths[1] != alone


def test_short_episodes_are_not_over_represented() -> None:
    """Two environments, one with episodes ten times as long: each plays its quota."""

    class Uneven:
        num_envs = 2
        single_observation_space = single_action_space = None

        def __init__(self) -> None:
            self.tick = 0

        def seed_episodes(self, seeds: Any) -> bool:
            return False

        def reset(self, *, seed: int) -> Any:
            return np.zeros((2, 1)), {}

        def step(self, actions: Any) -> Any:
            self.tick += 1
            ended = np.array([True, self.tick % 10 == 0])
            totals = np.array([1.0, 10.0])
            infos = {"_final_obs": ended, "episode_return": totals, "episode_length": totals.astype(int)}
            return np.zeros((2, 1)), totals, ended, ended, infos

    quotas = eval_batches.Quotas(range(5))
    played = eval_batches.play(Constant(0), Uneven(), quotas, deterministic=True)  # type: ignore[arg-type]
    assert played is not None
    assert [episode.episodic_return for episode in played] == [1, 10, 1, 10, 1]


def test_videos_are_recorded_when_asked_for_and_only_of_episodes_that_count(
    ppo_policy: Path, run_dir: RunDir, tmp_path: Path
) -> None:
    # One episode in each of ten environments: environment 0 goes on while the others play theirs to the end.
    evaluated_returns(run_dir, ppo_policy, "--episodes=10", "--capture-video")
    assert [path.name for path in sorted(run_dir.eval_videos.glob("*.mp4"))] == ["rl-video-episode-0.mp4"]
    assert run_dir.eval_videos.name == f"{run_dir.run_id}-eval"
    without = new_run(tmp_path)
    evaluated_returns(without, ppo_policy, "--episodes=2")
    assert not (without.root / "videos").exists()


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
    policy.write(path, policy.PolicyFile(**vars(file) | {"algo": "dqm"}))
    assert evaluate.main(["--policy-path", str(path)]) == 2
    assert "algorithm 'dqm' is not known; did you mean dqn" in capsys.readouterr().err


def test_a_policy_whose_environment_is_gone_is_refused(
    ppo_policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = policy.read(ppo_policy)
    path = tmp_path / "gone.cleanrl_model"
    policy.write(path, policy.PolicyFile(**vars(file) | {"env_id": "Withdrawn-v7"}))
    assert evaluate.main(["--policy-path", str(path)]) == 2
    assert "environment 'Withdrawn-v7' is not known" in capsys.readouterr().err


def test_a_disk_that_fills_up_ends_an_evaluation_with_a_reason_and_keeps_its_history(
    ppo_policy: Path, run_dir: RunDir
) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    flags = ("--repeat", "--episodes=2", "--no-tensorboard", "--no-fastlane-enabled", "--quiet")
    words = ("--policy-path", str(ppo_policy), *flags, "--run-dir", str(run_dir.root))
    with started_cold(*words, module="cleanrl_worker.evaluate", preexec_fn=limit) as process:
        _, said = process.communicate(timeout=300)
    assert process.returncode == 4
    assert b"could not be written" in said
    assert b"free some disk" in said
    history = json.loads(run_dir.eval_summary.read_text())
    assert [summary["batch"] for summary in history] == list(range(1, len(history) + 1))


def test_a_foreign_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_file({"w": np.zeros(3)}, tmp_path / "x")
    assert evaluate.main(["--policy-path", str(tmp_path / "x")]) == 2
    assert "not a MOSAIC policy" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"algo_params": {"seed": 1}}, "says itself what 'ppo' was trained with"),
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
