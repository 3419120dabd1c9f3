"""What goes wrong in mid-run ends it loudly and leaves the last good state; the loss of a mirror ends nothing."""

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from worker_cases import CASES, Case
from worker_runs import events_of, newest_step, policy_of, started_cold, train, wait_until

from cleanrl_worker import cli
from cleanrl_worker.sdk.checkpoints import checkpoint
from cleanrl_worker.sdk.command import algorithm_catalogue
from mosaic.spec import manifest
from mosaic.spec.events import RunCompleted, RunFailed
from mosaic.spec.files import disk_room
from mosaic.spec.run_dir import RunDir

SPACES = ("observation_space", "action_space")
GOOD_STEPS = {"vector": 300, "pixels": 100, "discrete": 300}
"""Of one environment; networks for pictures take longer for each."""


class Faulty(gym.Env[Any, Any]):
    """Ten steps an episode; after its good steps it rewards with NaN, or raises. `like` has the spaces instead."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space: gym.Space[Any] = gym.spaces.Box(-1, 1, (2,), np.float32)

    def __init__(self, actions: str, seen: str, fault: str, like: str = "", render_mode: str | None = None) -> None:
        if seen == "pixels":
            self.observation_space = gym.spaces.Box(0, 255, (84, 84), np.uint8)
        if seen == "discrete":
            self.observation_space = gym.spaces.Discrete(4)
        self.action_space: gym.Space[Any] = (
            gym.spaces.Discrete(2) if actions == "discrete" else gym.spaces.Box(-1, 1, (1,), np.float32)
        )
        if like:
            self.observation_space, self.action_space = (getattr(gym.make(like), name) for name in SPACES)
        self.fault = fault
        self.good_steps = GOOD_STEPS[seen]
        self.steps = 0
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return self._obs(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        if self.steps > self.good_steps and self.fault == "raises":
            raise ZeroDivisionError("the physics came to an end")
        reward = float("nan") if self.steps > self.good_steps else float(self.np_random.random())
        return self._obs(), reward, self.steps % 10 == 0, False, {}

    def _obs(self) -> Any:
        if isinstance(self.observation_space, gym.spaces.Discrete):
            return int(self.np_random.integers(4))
        if self.observation_space.dtype == np.uint8:
            return np.full(self.observation_space.shape, self.np_random.integers(256), np.uint8)
        return self.np_random.random(self.observation_space.shape or (), dtype=np.float32)


@pytest.fixture
def faulty() -> Iterator[Callable[..., str]]:
    """Makes an environment for an algorithm, with a fault."""
    made: list[str] = []

    def make(algo: str, fault: str, like: str = "") -> str:
        if algorithm_catalogue.is_resident(algo):
            pytest.skip(
                "its environments are ours alone; tests/worker/test_ppo_resident.py has a loss that is not a number"
            )
        env_id = f"test/Faulty{len(made)}-v0"
        kwargs = {
            "actions": algorithm_catalogue.kinds_of(algorithm_catalogue.load(algo))[0],
            "seen": algorithm_catalogue.needed_observations(algo),
            "fault": fault,
            "like": like,
        }
        gym.register(env_id, Faulty, kwargs=kwargs, disable_env_checker=True)
        made.append(env_id)
        return env_id

    yield make
    for env_id in made:
        del gym.registry[env_id]


def run(case: Case, run_dir: RunDir, *flags: str) -> int:
    return cli.main([*case.flags, *case.elsewhere, *flags, "--run-dir", str(run_dir.root), "--quiet"])


def the_failure(run_dir: RunDir) -> RunFailed:
    last = events_of(run_dir)[-1].body
    assert isinstance(last, RunFailed)
    return last


def test_a_loss_that_is_no_number_fails_the_run_and_keeps_the_last_good_checkpoint(
    case: Case, run_dir: RunDir, faulty: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    if "dataset" in case.settings:
        pytest.skip(f"of what {case.algo} sees in the environment nothing is learnt")
    env_id = faulty(case.algo, "nan")
    code = run(case, run_dir, f"--env-id={env_id}", "--checkpoint-interval-steps=50", "--checkpoints-kept=100")
    failure = the_failure(run_dir)
    assert (code, failure.error) == (5, "TrainingFailed")
    assert f"at step {failure.global_step}" in failure.message
    assert f"error: {failure.message}" in capsys.readouterr().err
    assert failure.message in run_dir.stderr.read_text()
    steps = checkpoint.list_steps(run_dir)
    assert steps
    assert steps[-1] < failure.global_step
    for step in steps:
        _, state = checkpoint.load(run_dir.checkpoint(step), algo=case.algo)
        assert_finite(state["algorithm"])
    assert not [artifact for artifact in manifest.read(run_dir).artifacts if artifact.kind == "policy"]


def assert_finite(state: Any) -> None:
    for value in state.values():
        if isinstance(value, dict):
            assert_finite(value)
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert np.isfinite(value).all()


def test_the_metric_that_is_no_number_is_named(
    run_dir: RunDir, faulty: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    case = CASES["ppo"]
    assert run(case, run_dir, f"--env-id={faulty('ppo', 'nan')}") == 5
    # Two environments of 300 good steps each, in rollouts of 64.
    assert "error: losses/value_loss became nan at step 640;" in capsys.readouterr().err


def test_an_environment_that_raises_fails_the_run(
    case: Case, run_dir: RunDir, faulty: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    like = case.env_id if "dataset" in case.settings else ""
    if like:  # So that it lasts longer than the environment.
        case = replace(case, settings={**case.settings, "total_timesteps": 400})
    assert run(case, run_dir, f"--env-id={faulty(case.algo, 'raises', like)}") == 4
    assert the_failure(run_dir).error == "EnvironmentFailed"
    assert "ZeroDivisionError('the physics came to an end')" in capsys.readouterr().err


def test_an_environment_that_raises_before_the_first_step_that_counts_fails_the_run_too(
    run_dir: RunDir, faulty: Callable[..., str]
) -> None:
    looks = "--num-iterations-obs-norm-init=100"
    assert run(CASES["ppo_rnd"], run_dir, f"--env-id={faulty('ppo_rnd', 'raises')}", looks) == 4
    assert the_failure(run_dir).message.startswith("the environment raised at step 0: ZeroDivisionError")


def test_a_bug_in_an_algorithm_leaves_its_traceback_in_the_runs_log(
    run_dir: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = algorithm_catalogue.load("ppo")
    monkeypatch.setattr(module, "gae", lambda *_, **__: 1 / 0)
    assert run(CASES["ppo"], run_dir) == 1
    assert the_failure(run_dir).error == "ZeroDivisionError"
    assert "Traceback" in run_dir.stderr.read_text()


@pytest.fixture
def tiny_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "tiny"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("a tiny disk can be mounted by root only")
    monkeypatch.setattr(disk_room, "NEEDED_BYTES", 0)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_up_while_checkpoints_are_written_keeps_the_older_ones(
    tiny_disk: Path, run_dir: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    on_tiny = RunDir(tiny_disk / run_dir.run_id)
    # The buffer grows until three of its copies are more than the disk holds.
    flags = ("--buffer-size=20000", "--checkpoint-interval-steps=1000", "--total-timesteps=40000", "--no-tensorboard")
    assert run(CASES["dqn"], on_tiny, *flags) == 4
    assert "older ones are intact" in capsys.readouterr().err
    steps = checkpoint.list_steps(on_tiny)
    assert len(steps) >= 1
    for step in steps:
        checkpoint.load(on_tiny.checkpoint(step), algo="dqn")
    assert not list(on_tiny.checkpoints.glob(".*"))
    assert the_failure(on_tiny).error == "HomeUnusable"


def test_a_spool_that_cannot_grow_ends_the_run_with_a_reason(run_dir: RunDir) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    flags = ("--total-timesteps=10000000", "--no-tensorboard", "--no-fastlane-enabled", "--quiet")
    with started_cold("--algo=ppo", *flags, "--run-dir", str(run_dir.root), preexec_fn=limit) as process:
        _, said = process.communicate(timeout=300)
    assert process.returncode == 4
    assert b"error: events.jsonl could not be written: [Errno 27] File too large" in said
    assert events_of(run_dir)[-1].body.kind != "run.completed"


def test_a_reader_that_goes_away_does_not_end_the_run(run_dir: RunDir) -> None:
    case = CASES["ppo"]
    with started_cold(*case.flags, "--run-dir", str(run_dir.root), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said.decode()
    assert events_of(run_dir)[-1].body == RunCompleted(global_step=case.total_timesteps)
    assert "global_step=" in run_dir.stdout.read_text()


def test_a_reader_that_stands_still_holds_up_neither_events_nor_checkpoints(run_dir: RunDir) -> None:
    flags = ("--algo=ppo", "--env-id=FrozenLake-v1", "--total-timesteps=10000000", "--checkpoint-interval-steps=2000")
    with started_cold(*flags, "--run-dir", str(run_dir.root), stdout=subprocess.PIPE) as process:
        # Its lines fill a pipe (64 KiB) several times over.
        assert wait_until(lambda: newest_step(run_dir) > 60_000, process)
        assert run_dir.events.stat().st_size > 500_000


def test_tensorboard_on_a_broken_disk_does_not_end_the_run(
    run_dir: RunDir, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from cleanrl_worker.sdk.record.tensorboard_writer import TensorBoard

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(TensorBoard, "write", full)
    train(run_dir, *CASES["ppo"].flags)
    assert "warning: TensorBoard gets no more events: [Errno 28]" in capsys.readouterr().out
    assert policy_of(run_dir).exists()
