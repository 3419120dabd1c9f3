"""A run that was killed, stopped or taken back goes on to the very same end, bit for bit."""

import math
import random
import re
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from worker_cases import CASES, Case
from worker_runs import (
    DEADLINE_S,
    board_of,
    copy_of,
    curve_of,
    die_after_a_checkpoint,
    evaluated_returns,
    events_of,
    final_files,
    new_run,
    newest_step,
    policy_of,
    resume,
    signal_after_a_checkpoint,
    started,
    train,
    wait_until,
)

from cleanrl_worker import cli
from cleanrl_worker.sdk import Run
from cleanrl_worker.sdk.checkpoints import checkpoint
from cleanrl_worker.sdk.command import algorithm_catalogue
from mosaic.spec import manifest
from mosaic.spec.events import CheckpointSaved, RunCompleted, RunStarted, Warned
from mosaic.spec.files.histogram_file import HistogramRow, rows_of
from mosaic.spec.processes import process_identity
from mosaic.spec.run_dir import RunDir


def interval(case: Case) -> int:
    """Steps between two checkpoints: often enough for a kill at any moment to fall between two of them."""
    return max(40, case.total_timesteps // 16)


def often(case: Case) -> tuple[str, ...]:
    return f"--checkpoint-interval-steps={interval(case)}", "--quiet"


@pytest.fixture
def moment() -> random.Random:
    """Another one in every run of the suite; a failure shows the number that repeats it."""
    seed = random.SystemRandom().randrange(2**32)  # The runs in this process seed the others.
    print(f"random moment from seed {seed}")
    return random.Random(seed)


def killed(case: Case, folder: Path, step: int, delay_s: float, *flags: str) -> RunDir:
    """A run that was killed so long after the checkpoint of `step`; at least two checkpoints are left to be made."""
    settings = case.settings
    # An algorithm looks whether a checkpoint is due after a rollout, or after a block of steps.
    steps = settings.get("num_steps") or getattr(algorithm_catalogue.load(case.algo), "BLOCK", 1)
    look = settings.get("num_envs", 1) * steps
    between = math.ceil(interval(case) / look) * look
    run_dir = new_run(folder)
    # It holds at the last checkpoint but two, which is the third from the end.
    dies = partial(die_after_a_checkpoint, step, delay_s, case.total_timesteps - 3 * between)
    with started(*case.flags, *often(case), *flags, "--run-dir", str(run_dir.root), before=dies) as process:
        process.wait(DEADLINE_S)
        assert process.returncode == -signal.SIGKILL
    return run_dir


def attempts_of(run_dir: RunDir) -> list[RunStarted]:
    return [event.body for event in events_of(run_dir) if isinstance(event.body, RunStarted)]


def assert_same_run(resumed: RunDir, straight: RunDir) -> None:
    assert all(attempt.exact for attempt in attempts_of(resumed))
    assert curve_of(resumed) == curve_of(straight)
    ours, wanted = final_files(resumed), final_files(straight)
    assert ours.keys() == wanted.keys()
    assert [name for name in wanted if ours[name] != wanted[name]] == []
    assert histograms_of(resumed) == histograms_of(straight)


def histograms_of(run_dir: RunDir) -> list[HistogramRow]:
    """Bit for bit, but for the clock."""
    if not run_dir.histograms.exists():
        return []
    rows, damaged = rows_of(run_dir.histograms.read_bytes().split(b"\n")[:-1])
    assert damaged == 0
    assert len({row.update for row in rows}) == len(rows)
    return [replace(row, time=0.0) for row in rows]


def assert_no_point_is_doubled(resumed: RunDir, straight: RunDir) -> None:
    """TensorBoard's own reader sees the curve of a straight run."""
    ours, wanted = board_of(resumed.tensorboard), board_of(straight.tensorboard)
    assert ours.Tags()["scalars"] == wanted.Tags()["scalars"]
    for tag in wanted.Tags()["scalars"]:
        assert [p.step for p in ours.Scalars(tag)] == [p.step for p in wanted.Scalars(tag)], tag


def assert_stopped_in_good_order(run_dir: RunDir) -> None:
    bodies = [event.body for event in events_of(run_dir)]
    saved = [body for body in bodies if isinstance(body, CheckpointSaved)][-1]
    assert saved.reason == "stop"
    assert bodies[-1] == RunCompleted(global_step=saved.global_step, stopped=True)
    assert policy_of(run_dir).exists()


def stop_after_the_first_look(patch: pytest.MonkeyPatch) -> None:
    """The signal comes just after an algorithm has asked whether it should stop, the first time."""
    asked = count()
    patch.setattr(Run, "stopping", property(lambda _: next(asked) > 0, lambda _, __: None), raising=False)


def test_killed_then_stopped_then_resumed_ends_as_if_nothing_had_been(
    case: Case, straight: RunDir, tmp_path: Path, moment: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_at = moment.randint(1, int(case.total_timesteps * 0.4))
    run_dir = killed(case, tmp_path, kill_at, moment.uniform(0.0, 0.2))

    killed_after = newest_step(run_dir)
    with monkeypatch.context() as patch:
        signal_after_a_checkpoint(patch, moment.choice([signal.SIGTERM, signal.SIGINT]))
        resume(run_dir, *often(case))
    stopped_after = newest_step(run_dir)
    assert_stopped_in_good_order(run_dir)
    assert len(evaluated_returns(new_run(tmp_path), policy_of(run_dir), "--episodes=3")) == 3
    half_way = policy_of(run_dir).read_bytes()

    resume(run_dir)
    assert [body.resumed_from_step for body in attempts_of(run_dir)] == [None, killed_after, stopped_after]
    assert_same_run(run_dir, straight)
    assert_no_point_is_doubled(run_dir, straight)
    alone = tmp_path / "alone" / "some_name"
    alone.parent.mkdir()
    shutil.copy(policy_of(run_dir), alone)
    returns = evaluated_returns(new_run(tmp_path), alone, "--episodes=3")
    assert returns == evaluated_returns(new_run(tmp_path), policy_of(straight), "--episodes=3")
    assert policy_of(run_dir).read_bytes() != half_way
    assert all((run_dir.root / artifact.path).exists() for artifact in manifest.read(run_dir).artifacts)


def test_the_path_of_a_gpu_is_resumed_exactly_too(
    case: Case, run_dir: RunDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its torch maths on the CPU, where torch too is exact."""
    module: Any = algorithm_catalogue.load(case.algo)
    if not hasattr(module, "guarded"):
        return  # Torch is its only path: the test above has resumed it.
    monkeypatch.setattr(module, "guarded", lambda run, plain, fast: plain)
    flags = (*case.flags, f"--total-timesteps={max(400, case.total_timesteps // 6 // 128 * 128)}")
    straight = new_run(tmp_path)
    train(straight, *flags)
    with monkeypatch.context() as patch:
        signal_after_a_checkpoint(patch, signal.SIGTERM)
        train(run_dir, *flags, *often(case))
    assert_stopped_in_good_order(run_dir)
    resume(run_dir)
    assert_same_run(run_dir, straight)


def test_a_stop_that_comes_between_two_questions_is_answered_with_a_checkpoint(
    case: Case, run_dir: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after_the_first_look(monkeypatch)
    train(run_dir, *case.flags)
    assert_stopped_in_good_order(run_dir)


@pytest.mark.parametrize("case", [CASES["ppo_rnd"]], ids=lambda case: case.algo)
def test_random_play_before_the_first_step_is_stopped_and_resumed_too(
    case: Case, run_dir: RunDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = (*case.flags, "--num-iterations-obs-norm-init=3", "--total-timesteps=64")
    straight = new_run(tmp_path)
    train(straight, *flags)
    with monkeypatch.context() as patch:
        stop_after_the_first_look(patch)
        train(run_dir, *flags)
    assert_stopped_in_good_order(run_dir)
    assert checkpoint.list_steps(run_dir) == [0]
    resume(run_dir)
    assert_same_run(run_dir, straight)


@pytest.mark.parametrize("case", [CASES["dqn_atari"], CASES["ppo_atari"]], ids=lambda case: case.algo)
def test_bfloat16_is_resumed_exactly_and_warned_of_where_it_is_slow(
    case: Case, run_dir: RunDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cleanrl_worker.sdk.run.bfloat16_is_fast", lambda _: False)
    flags = (*case.flags, "--total-timesteps=200")
    straight, exact = new_run(tmp_path), new_run(tmp_path)
    train(straight, *flags, "--bfloat16")
    train(exact, *flags)
    with monkeypatch.context() as patch:
        signal_after_a_checkpoint(patch, signal.SIGTERM)
        train(run_dir, *flags, *often(case), "--bfloat16")
    resume(run_dir)
    assert_same_run(run_dir, straight)
    assert curve_of(exact) != curve_of(straight)
    warned = [
        [event.body.message for event in events_of(each) if isinstance(event.body, Warned)]
        for each in (straight, exact)
    ]
    assert [["without --bfloat16 the run is faster" in each for each in messages] for messages in warned] == [
        [True],
        [],
    ]


def test_environments_in_processes_are_resumed_to_the_curve_of_the_bare_ones(
    straight_runs: Callable[[Case], RunDir], tmp_path: Path
) -> None:
    case = CASES["ppo"]
    run_dir = killed(case, tmp_path, 1000, 0.1, "--env-backend=async")
    resume(run_dir)
    straight = straight_runs(case)
    assert curve_of(run_dir) == curve_of(straight)
    assert final_files(run_dir)["policy"] == final_files(straight)["policy"]


def test_resuming_from_an_older_checkpoint_takes_the_run_back_there(
    case: Case, straight: RunDir, run_dir: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No checkpoint is left out because the one before is still being written.
    monkeypatch.setattr(checkpoint.BackgroundWriter, "busy", False)
    train(run_dir, *case.flags, f"--checkpoint-interval-steps={case.total_timesteps // 4}", "--checkpoints-kept=1000")
    steps = checkpoint.list_steps(run_dir)
    older = steps[len(steps) // 2]
    flags = "--checkpoint-interval-steps=0", "--discard-newer"
    resume(run_dir, *flags, checkpoint_folder=run_dir.checkpoint(older))
    assert checkpoint.list_steps(run_dir) == [step for step in steps if step <= older] + [case.total_timesteps]
    assert_same_run(run_dir, straight)
    assert_no_point_is_doubled(run_dir, straight)


@pytest.mark.parametrize("case", [CASES["ppo"]], ids=lambda case: case.algo)
def test_killed_before_the_first_checkpoint_it_starts_over(case: Case, straight: RunDir, tmp_path: Path) -> None:
    run_dir = new_run(tmp_path)
    flags = (*case.flags, "--total-timesteps=10000000", "--quiet")
    with started(*flags, "--run-dir", str(run_dir.root)) as process:
        assert wait_until(lambda: run_dir.events.exists() and len(curve_of(run_dir)) > 3, process)
        process.kill()
        process.wait(DEADLINE_S)
    assert checkpoint.list_steps(run_dir) == []
    resume(run_dir, f"--total-timesteps={case.total_timesteps}")
    assert [body.resumed_from_step for body in attempts_of(run_dir)] == [None, 0]
    assert_same_run(run_dir, straight)
    assert_no_point_is_doubled(run_dir, straight)


@pytest.mark.parametrize("case", [CASES["dqn"]], ids=lambda case: case.algo)
def test_a_finished_run_can_be_given_more_steps(case: Case, straight: RunDir, tmp_path: Path) -> None:
    run_dir = copy_of(straight, tmp_path)
    resume(run_dir, f"--total-timesteps={case.total_timesteps + 200}")
    assert newest_step(run_dir) == case.total_timesteps + 200
    assert events_of(run_dir)[-1].body == RunCompleted(global_step=case.total_timesteps + 200)


@pytest.mark.parametrize("case", [CASES["ppo"]], ids=lambda case: case.algo)
@pytest.mark.parametrize(
    ("flag", "complaint"),
    [
        ("--env-id=Acrobot-v1", "was saved with env_id CartPole-v1, not Acrobot-v1"),
        ("--seed=7", "was saved with seed 1, not 7"),
        ("--num-steps=7", "was saved with num_steps 32, not 7"),
        ("--num-envs=5", "was saved with num_envs 2, not 5"),
    ],
)
def test_a_run_cannot_become_another_one(
    flag: str, complaint: str, case: Case, straight: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = copy_of(straight, tmp_path)
    code = cli.main(["--resume", str(run_dir.root), flag, "--total-timesteps=20000"])
    assert (code, complaint in capsys.readouterr().err) == (2, True)
    assert newest_step(run_dir) == case.total_timesteps
    assert run_dir.config.read_text() == straight.config.read_text()


@pytest.mark.parametrize(
    ("case", "flag", "told"),
    [
        (CASES["c51"], "--n-atoms=7", "n_atoms 101, not 7"),
        (CASES["c51"], "--v-max=7", "v_max 100.0, not 7.0"),
        (CASES["qr_dqn"], "--n-quantiles=7", "not 7"),
    ],
    ids=["n-atoms", "v-max", "n-quantiles"],
)
def test_networks_keep_their_shape(
    flag: str, told: str, straight: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = copy_of(straight, tmp_path)
    assert cli.main(["--resume", str(run_dir.root), flag, "--total-timesteps=20000"]) == 2
    assert re.search(rf"was saved with .*{told}; start another run", capsys.readouterr().err)


@pytest.mark.parametrize("case", [CASES["pqn"], CASES["sac_continuous_action"]], ids=lambda case: case.algo)
def test_a_run_of_a_gpu_goes_on_by_the_loss_on_a_cpu(
    case: Case, run_dir: RunDir, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Torch's maths on the CPU take the place of a GPU's."""
    module: Any = algorithm_catalogue.load(case.algo)
    with monkeypatch.context() as patch:
        patch.setattr(module, "guarded", lambda run, plain, fast: plain)
        stop_after_the_first_look(patch)
        train(run_dir, *case.flags)
    assert cli.main(["--resume", str(run_dir.root), "--no-cuda"]) == 0
    assert "the checkpoint was written by the loss" in capsys.readouterr().out


@pytest.mark.parametrize("case", [CASES["pqn"], CASES["sac_continuous_action"]], ids=lambda case: case.algo)
def test_a_run_of_the_fast_path_is_not_resumed_on_a_gpu(
    case: Case, run_dir: RunDir, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Torch's maths on the CPU take the place of a GPU's."""
    module: Any = algorithm_catalogue.load(case.algo)
    with monkeypatch.context() as patch:
        stop_after_the_first_look(patch)
        train(run_dir, *case.flags)
    before = run_dir.config.read_text()
    monkeypatch.setattr(module, "guarded", lambda run, plain, fast: plain)
    assert cli.main(["--resume", str(run_dir.root), "--quiet"]) == 2
    assert run_dir.config.read_text() == before
    assert "on another device, where a learner keeps other things" in capsys.readouterr().err


@pytest.mark.parametrize("case", [CASES["ppo"]], ids=lambda case: case.algo)
def test_a_run_whose_worker_lives_is_not_resumed_by_a_second_one(
    case: Case, run_dir: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = (*case.flags, *often(case), "--total-timesteps=10000000", "--run-dir", str(run_dir.root))
    with started(*flags) as process:
        assert wait_until(lambda: newest_step(run_dir) > 0, process)
        assert cli.main(["--resume", str(run_dir.root)]) == 2
    assert f"still trained by process {process.pid}" in capsys.readouterr().err
    assert process_identity.read(run_dir.worker).pid == process.pid


@pytest.mark.parametrize("case", [CASES["ppo"]], ids=lambda case: case.algo)
@pytest.mark.parametrize("backend", ["native", "envpool"])
def test_a_backend_that_cannot_go_back_says_so(
    backend: str, case: Case, run_dir: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    train(run_dir, *case.flags, f"--env-backend={backend}", "--total-timesteps=1024")
    resume(run_dir, "--total-timesteps=2048")
    bodies = [event.body for event in events_of(run_dir)]
    assert [body.exact for body in attempts_of(run_dir)] == [True, False]
    assert sum(body.kind == "run.warning" for body in bodies) == 1
    assert "warning: the environments could not be restored exactly" in capsys.readouterr().out
    assert bodies[-1] == RunCompleted(global_step=2048)


@pytest.mark.parametrize("case", [CASES["ppo"], CASES["sac_continuous_action"]], ids=lambda case: case.algo)
def test_leftovers_of_a_kill_in_the_middle_of_a_checkpoint_are_cleared(
    case: Case, straight: RunDir, tmp_path: Path
) -> None:
    run_dir = copy_of(straight, tmp_path)
    numbers = count(1)
    for name in (".step-7.tmp", ".step-9999999.tmp"):
        (run_dir.checkpoints / name).mkdir()
        (run_dir.checkpoints / name / "arrays.safetensors").write_bytes(bytes(next(numbers)))
    resume(run_dir)
    assert [folder.name for folder in run_dir.checkpoints.iterdir()] == [f"step-{case.total_timesteps}"]
    assert_same_run(run_dir, straight)
