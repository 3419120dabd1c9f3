"""Starting, killing and reading runs of the worker in tests."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from forked import Forked
from patience import looks
from strict_spool import decode_spool
from tensorboard.backend.event_processing.event_accumulator import TENSORS, EventAccumulator

from cleanrl_worker import cli, evaluate
from cleanrl_worker.sdk import Run
from cleanrl_worker.sdk.checkpoints import checkpoint
from mosaic.spec import manifest
from mosaic.spec.events import Episode, Event, RunStarted, Scalars
from mosaic.spec.run_dir import RunDir, new_run_id

DEADLINE_S = 300.0
UNREPEATABLE = "charts/SPS"


def new_run(folder: Path) -> RunDir:
    return RunDir(folder / new_run_id())


def copy_of(straight: RunDir, folder: Path) -> RunDir:
    """To be changed; without the worker, a process of the suite that goes on with other things."""
    copy = RunDir(folder / straight.run_id)
    shutil.copytree(straight.root, copy.root)
    copy.worker.unlink()
    return copy


def train(run_dir: RunDir, *flags: str) -> None:
    """The whole command, in this process."""
    assert cli.main([*flags, "--run-dir", str(run_dir.root), "--quiet"]) == 0


def resume(run_dir: RunDir, *flags: str, checkpoint_folder: Path | None = None) -> None:
    assert cli.main(["--resume", str(checkpoint_folder or run_dir.root), "--quiet", *flags]) == 0


def run_command(*flags: str, module: str = "cleanrl_worker.cli", **changes: Any) -> "subprocess.CompletedProcess[str]":
    """The whole command, in a process of its own, to its end."""
    options: dict[str, Any] = {"capture_output": True, "text": True, "timeout": DEADLINE_S, "check": False} | changes
    return subprocess.run([sys.executable, "-m", module, *flags], **options)


@contextmanager
def started(*flags: str, module: str = "cleanrl_worker.cli", before: Callable[[], object] = bool) -> Iterator[Forked]:
    """The whole command, in a process of its own that does not outlive the block."""
    process = Forked(module, flags, before=before)
    try:
        yield process
    finally:
        process.kill()
        process.wait(DEADLINE_S)
        process.close()


@contextmanager
def started_cold(
    *flags: str, module: str = "cleanrl_worker.cli", **changes: Any
) -> "Iterator[subprocess.Popen[bytes]]":
    """By a new interpreter: for what an interpreter is given from the beginning, as its limits and its streams."""
    options: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE} | changes
    process = subprocess.Popen([sys.executable, "-m", module, *flags], **options)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=DEADLINE_S)


def wait_until(condition: Callable[[], bool], process: "Forked | subprocess.Popen[bytes]") -> bool:
    """Whether `condition` came true while the process lived."""
    for _ in looks(DEADLINE_S, longest_s=0.02):
        if condition():
            return True
        if process.poll() is not None:
            return condition()
    raise AssertionError("the condition never came true")


def signal_after_a_checkpoint(patch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    """This process gets the signal while it trains, once: at the step of its first checkpoint, when that is on disk.

    The learner waits for it: else it may have done all its steps before a slow disk is ready.
    """
    signals = iter([number])
    right = Run.checkpoint

    def save_and_signal(self: Run, *args: Any, **options: Any) -> None:
        right(self, *args, **options)
        self._writer.wait()
        for each in signals:
            os.kill(os.getpid(), each)

    patch.setattr(Run, "checkpoint", save_and_signal)


def die_after_a_checkpoint(step: int, delay_s: float, latest: int) -> None:
    """This process kills itself so long after the first checkpoint from this step on, or from `latest` on.

    After a checkpoint from `latest` on it goes no further: however late the kill comes, something is left to be done.
    """
    right = Run._checkpoint_saved
    dying: list[threading.Timer] = []

    def saved(self: Run, folder: Path, global_step: int, reason: Any) -> None:
        right(self, folder, global_step, reason)
        if global_step >= min(step, latest) and not dying:
            dying.append(threading.Timer(delay_s, os.kill, (os.getpid(), signal.SIGKILL)))
            dying[0].start()
        if global_step >= latest:
            threading.Event().wait()

    Run._checkpoint_saved = saved
    # No checkpoint is left out because the one before is still being written.
    setattr(checkpoint.BackgroundWriter, "busy", False)  # noqa: B010 - a property there


def newest_step(run_dir: RunDir) -> int:
    return max(checkpoint.list_steps(run_dir), default=0)


def events_of(run_dir: RunDir) -> list[Event]:
    """Every event; the reading itself checks that there is no gap."""
    with run_dir.events.open("rb") as lines:
        return list(decode_spool(lines))


def curve_of(run_dir: RunDir) -> list[tuple[int, object]]:
    """Scalars and episodes of all attempts as one curve, without what no two runs have in common."""
    curve: list[tuple[int, object]] = []
    for event in events_of(run_dir):
        match event.body:
            case RunStarted(resumed_from_step=int(step)):
                curve = [point for point in curve if point[0] <= step]
            case Scalars(global_step=step, values=values):
                curve.append((step, {tag: value for tag, value in values.items() if tag != UNREPEATABLE}))
            case Episode(global_step=step) as episode:
                curve.append((step, episode))
            case _:
                pass
    return curve


def final_files(run_dir: RunDir) -> dict[str, bytes]:
    """The last train state and the policy, byte for byte."""
    folder = checkpoint.latest(run_dir)
    assert folder is not None
    files = {f"{folder.name}/{file.name}": file.read_bytes() for file in folder.iterdir()}
    return files | {"policy": policy_of(run_dir).read_bytes()}


def policy_of(run_dir: RunDir) -> Path:
    [artifact] = [artifact for artifact in manifest.read(run_dir).artifacts if artifact.kind == "policy"]
    return run_dir.root / artifact.path


def board_of(folder: Path) -> EventAccumulator:
    """What TensorBoard itself reads from a folder."""
    board = EventAccumulator(str(folder), size_guidance={"scalars": 0, TENSORS: 0})
    board.Reload()
    return board


def evaluated_returns(run_dir: RunDir, policy: Path, *flags: str) -> list[float]:
    """Returns of an evaluation, in this process."""
    words = ["--policy-path", str(policy), "--run-dir", str(run_dir.root), "--quiet", *flags]
    assert evaluate.main(words) == 0
    return [
        float(event.body.values["eval/episodic_return"])
        for event in events_of(run_dir)
        if isinstance(event.body, Scalars)
    ]


def kinds(events: Sequence[Event]) -> list[str]:
    return [event.body.kind for event in events]
