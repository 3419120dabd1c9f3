"""Checkpoints are complete or absent; the last and the best stay; what is foreign or damaged is refused by name."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cleanrl_worker.sdk.checkpoints import checkpoint
from cleanrl_worker.sdk.checkpoints.checkpoint import BackgroundWriter, Header
from mosaic.errors import CheckpointError, HomeUnusable
from mosaic.spec.run_dir import RunDir

STATE: dict[str, Any] = {
    "algorithm": {"parameters": np.arange(4, dtype=np.float32), "done": torch.zeros(2, dtype=torch.bool)},
    "rng": {"state": 2**127 + 1, "python": (3, None)},
}


@pytest.fixture
def run_dir(run_dir: RunDir) -> RunDir:
    run_dir.create()
    return run_dir


def header(step: int, mean_return: float | None = None) -> Header:
    return Header(algo="ppo", args={"env_id": "CartPole-v1", "seed": 1}, global_step=step, mean_return=mean_return)


def names(run_dir: RunDir) -> list[str]:
    return sorted(folder.name for folder in run_dir.checkpoints.iterdir())


def test_a_checkpoint_comes_back_as_it_was(run_dir: RunDir) -> None:
    folder = checkpoint.save(run_dir, header(5, 1.5), STATE)
    assert sorted(file.name for file in folder.iterdir()) == ["arrays.safetensors", "state.json"]
    found, state = checkpoint.load(folder, algo="ppo")
    assert found == checkpoint.read_header(folder) == header(5, 1.5)
    np.testing.assert_array_equal(state["algorithm"]["parameters"], STATE["algorithm"]["parameters"])
    assert state["algorithm"]["done"].dtype is torch.bool
    assert state["rng"] == {"state": 2**127 + 1, "python": [3, None]}


def test_what_was_loaded_can_be_written_to(run_dir: RunDir) -> None:
    _, state = checkpoint.load(checkpoint.save(run_dir, header(5), STATE), algo="ppo")
    state["algorithm"]["parameters"] += 1
    state["algorithm"]["done"].fill_(True)


def test_the_same_step_saved_again_replaces_the_first(run_dir: RunDir) -> None:
    checkpoint.save(run_dir, header(5), {"x": 1})
    folder = checkpoint.save(run_dir, header(5), {"x": 2})
    assert checkpoint.load(folder, algo="ppo")[1] == {"x": 2}
    assert names(run_dir) == ["step-5"]


@pytest.mark.parametrize("culprit", ["array_file.write", "_write_synced"])
def test_an_error_while_writing_leaves_the_older_one_and_no_part(
    culprit: str, run_dir: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint.save(run_dir, header(5), STATE)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"cleanrl_worker.sdk.checkpoints.checkpoint.{culprit}", full)
    with pytest.raises(HomeUnusable, match=r"step 9 could not be written.*No space left.*older ones are intact"):
        checkpoint.save(run_dir, header(9), STATE)
    assert names(run_dir) == ["step-5"]
    checkpoint.load(run_dir.checkpoint(5), algo="ppo")


def test_a_state_that_no_file_can_hold_leaves_no_part(run_dir: RunDir) -> None:
    checkpoint.save(run_dir, header(5), STATE)
    with pytest.raises(Exception, match="complex"):
        checkpoint.save(run_dir, header(9), {"x": np.zeros(2, dtype=np.complex256)})
    assert names(run_dir) == ["step-5"]


def test_an_error_of_the_writers_thread_is_kept_for_the_learner(
    run_dir: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint.array_file, "write", full)
    saved: list[Path] = []
    writer = BackgroundWriter(run_dir)
    writer.start(header(9), STATE, ready=lambda: None, done=saved.append)
    writer.wait()
    assert isinstance(writer.error, HomeUnusable)
    assert saved == []


def test_a_checkpoint_gets_its_name_only_when_its_events_are_on_disk(run_dir: RunDir) -> None:
    seen: list[list[int]] = []
    writer = BackgroundWriter(run_dir)
    writer.start(header(9), STATE, ready=lambda: seen.append(checkpoint.list_steps(run_dir)), done=lambda folder: None)
    writer.wait()
    assert (seen, checkpoint.list_steps(run_dir), writer.error) == ([[]], [9], None)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "tiny"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("a tiny disk can be mounted by root only")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_up_keeps_the_older_checkpoint_whole(tiny_disk: Path, run_dir: RunDir) -> None:
    on_tiny = RunDir(tiny_disk / run_dir.run_id)
    small, large = {"x": np.ones(1000)}, {"x": np.ones(1_000_000)}
    checkpoint.save(on_tiny, header(5), small)
    with pytest.raises(HomeUnusable, match="older ones are intact"):
        checkpoint.save(on_tiny, header(9), large)
    assert names(on_tiny) == ["step-5"]
    assert checkpoint.load(on_tiny.checkpoint(5), algo="ppo")[1]["x"].sum() == 1000
    checkpoint.save(on_tiny, header(9), small)
    assert names(on_tiny) == ["step-5", "step-9"]


def test_the_last_ones_and_the_best_stay(run_dir: RunDir) -> None:
    for step, score in ((1, 10.0), (2, 90.0), (3, None), (4, float("nan")), (5, 20.0), (6, 30.0)):
        checkpoint.save(run_dir, header(step, score), STATE)
    assert checkpoint.best_step(run_dir) == 2
    assert checkpoint.superseded(run_dir, keep=2) == [1, 3, 4]
    checkpoint.remove(run_dir, [1, 3, 4])
    assert names(run_dir) == ["step-2", "step-5", "step-6"]


def test_of_equally_good_ones_the_latest_is_the_best(run_dir: RunDir) -> None:
    for step in (1, 2, 3):
        checkpoint.save(run_dir, header(step, 500.0), STATE)
    assert checkpoint.best_step(run_dir) == 3


def test_without_scores_there_is_no_best(run_dir: RunDir) -> None:
    assert checkpoint.best_step(run_dir) is None
    checkpoint.save(run_dir, header(1), STATE)
    assert checkpoint.best_step(run_dir) is None


def test_a_damaged_old_one_does_not_end_a_run(run_dir: RunDir) -> None:
    for step in (1, 2, 3):
        checkpoint.save(run_dir, header(step, float(step)), STATE)
    (run_dir.checkpoint(1) / "state.json").write_text("{")
    assert checkpoint.superseded(run_dir, keep=1) == [1, 2]


def test_steps_are_ordered_by_number_and_other_folders_are_left_alone(run_dir: RunDir) -> None:
    for step in (1000, 200, 30):
        checkpoint.save(run_dir, header(step), STATE)
    for name in ("step-", "step-x", "step-007", "notes"):
        (run_dir.checkpoints / name).mkdir()
    assert checkpoint.list_steps(run_dir) == [30, 200, 1000]
    assert checkpoint.latest(run_dir) == run_dir.checkpoint(1000)


def test_no_checkpoint_is_no_error(run_dir: RunDir) -> None:
    assert checkpoint.latest(run_dir) is None
    checkpoint.clear_leftovers(run_dir, after=0)


def test_another_algorithm_is_refused(run_dir: RunDir) -> None:
    folder = checkpoint.save(run_dir, header(5), STATE)
    with pytest.raises(CheckpointError, match="was written by 'ppo'; it cannot be resumed with 'dqn'"):
        checkpoint.load(folder, algo="dqn")


def damaged(folder: Path, how: str) -> None:
    document, arrays = folder / "state.json", folder / "arrays.safetensors"
    match how:
        case "no folder":
            document.unlink()
            arrays.unlink()
            folder.rmdir()
        case "no document":
            document.unlink()
        case "no arrays":
            arrays.unlink()
        case "cut document":
            document.write_bytes(document.read_bytes()[:-20])
        case "cut arrays":
            arrays.write_bytes(arrays.read_bytes()[:-3])
        case "random arrays":
            arrays.write_bytes(os.urandom(500))
        case "random document":
            document.write_bytes(os.urandom(500))
        case "a list":
            document.write_text("[1, 2]")
        case "foreign":
            document.write_text(json.dumps({"format": "another-programs-2", "state": {}}))
        case "no state":
            content = json.loads(document.read_text())
            del content["state"]
            document.write_text(json.dumps(content))
        case "no algo":
            content = json.loads(document.read_text())
            del content["algo"]
            document.write_text(json.dumps(content))
        case "wrong pairs":
            content = json.loads(document.read_text())
            content["state"] = {"$pairs": [[1, 2, 3]]}
            document.write_text(json.dumps(content))
        case _:
            pytest.fail(how)


@pytest.mark.parametrize(
    "how",
    [
        "no folder",
        "no document",
        "no arrays",
        "cut document",
        "cut arrays",
        "random arrays",
        "random document",
        "a list",
        "foreign",
        "no state",
        "no algo",
        "wrong pairs",
    ],
)
def test_what_is_damaged_or_foreign_is_refused_by_name(how: str, run_dir: RunDir) -> None:
    folder = checkpoint.save(run_dir, header(5), STATE)
    damaged(folder, how)
    with pytest.raises(CheckpointError, match=r"step-5"):
        checkpoint.load(folder, algo="ppo")
