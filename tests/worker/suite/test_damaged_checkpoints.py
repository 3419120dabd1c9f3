"""A resume takes the newest whole checkpoint and says so; newer ones go only when that is asked for."""

import json
from pathlib import Path

import pytest
from worker_runs import copy_of, events_of, final_files, policy_of, resume, train

from cleanrl_worker import cli
from cleanrl_worker.sdk.checkpoints import checkpoint
from cleanrl_worker.sdk.checkpoints.checkpoint import BackgroundWriter
from mosaic.spec.events import RunStarted, Warned
from mosaic.spec.run_dir import RunDir, new_run_id

PPO = ("--algo=ppo", "--total-timesteps=512", "--num-envs=2", "--num-steps=32", "--no-tensorboard")
STEPS = [128, 256, 384, 512]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    run_dir = RunDir(tmp_path_factory.mktemp("trained") / new_run_id())
    with pytest.MonkeyPatch.context() as patch:
        # No interval is skipped, however slow the disk is.
        patch.setattr(BackgroundWriter, "busy", property(BackgroundWriter.wait))
        train(run_dir, *PPO, "--checkpoint-interval-steps=128", "--checkpoint-interval-s=0", "--checkpoints-kept=9")
    assert checkpoint.list_steps(run_dir) == STEPS
    return run_dir


@pytest.fixture
def run_dir(trained: RunDir, tmp_path: Path) -> RunDir:
    return copy_of(trained, tmp_path)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def told(run_dir: RunDir) -> list[str]:
    return [event.body.message for event in events_of(run_dir) if isinstance(event.body, Warned)]


def begun_from(run_dir: RunDir) -> int | None:
    return [event.body for event in events_of(run_dir) if isinstance(event.body, RunStarted)][-1].resumed_from_step


def test_a_resume_takes_the_newest_whole_checkpoint_says_so_and_ends_alike(run_dir: RunDir, trained: RunDir) -> None:
    flip(run_dir.checkpoint(512) / "arrays.safetensors")
    flip(run_dir.checkpoint(384) / "state.json")
    resume(run_dir)
    assert begun_from(run_dir) == 256
    newest, second = told(run_dir)
    assert "step-512/arrays.safetensors is damaged: its content is not what was written" in newest
    assert newest.endswith("; the run goes on from step-256 instead")
    assert "step-384" in second
    assert final_files(run_dir) == final_files(trained)


def test_a_finished_run_that_is_resumed_writes_a_damaged_policy_anew(run_dir: RunDir, trained: RunDir) -> None:
    flip(policy_of(run_dir))
    resume(run_dir)
    assert final_files(run_dir) == final_files(trained)
    assert told(run_dir) == []


def test_without_a_whole_checkpoint_nothing_is_resumed(run_dir: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    for step in STEPS:
        flip(run_dir.checkpoint(step) / "arrays.safetensors")
    before = run_dir.events.read_bytes()
    assert cli.main(["--resume", str(run_dir.root)]) == 2
    assert "has no whole checkpoint; submit it again" in capsys.readouterr().err
    assert (run_dir.events.read_bytes(), checkpoint.list_steps(run_dir)) == (before, STEPS)


def test_a_damaged_checkpoint_that_is_named_is_refused(run_dir: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    flip(run_dir.checkpoint(512) / "arrays.safetensors")
    assert cli.main(["--resume", str(run_dir.checkpoint(512))]) == 2
    complaint = capsys.readouterr().err
    assert "step-512/arrays.safetensors is damaged" in complaint
    assert "resume from an older checkpoint" in complaint


def test_newer_checkpoints_are_not_deleted_unasked(run_dir: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    older = run_dir.checkpoint(256)
    assert cli.main(["--resume", str(older)]) == 2
    complaint = capsys.readouterr().err
    assert "has newer checkpoints, of step 384, 512: --discard-newer deletes them" in complaint
    assert f"mosaic resume {run_dir.run_id} --from-step 256" in complaint
    assert checkpoint.list_steps(run_dir) == STEPS
    resume(run_dir, "--discard-newer", "--checkpoint-interval-steps=0", checkpoint_folder=older)
    assert begun_from(run_dir) == 256
    assert checkpoint.list_steps(run_dir) == [128, 256, 512]


def test_a_checkpoint_of_an_earlier_version_is_resumed_with_one_warning(run_dir: RunDir, trained: RunDir) -> None:
    for step in STEPS:
        path = run_dir.checkpoint(step) / "state.json"
        document = json.loads(path.read_bytes())
        for later in ("sha256", "files", "threads", "source", "env_settings", "env_sources"):
            del document[later]
        path.write_text(json.dumps(document))
    resume(run_dir)
    [warning] = told(run_dir)
    assert "step-512 was written by an earlier version, without digests" in warning
    assert final_files(run_dir)["policy"] == final_files(trained)["policy"]
