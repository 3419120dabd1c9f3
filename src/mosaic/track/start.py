"""Starting an exporter: a process in a session of its own, which outlives whoever starts it."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping

from mosaic.spec.run_dir import RunDir
from mosaic.track import state
from mosaic.track.state import WANDB, Export


def start(
    run_dir: RunDir, environment: Mapping[str, str], *, tracker: str = WANDB, sync: bool = False
) -> "subprocess.Popen[bytes]":
    """Export a run, or upload what was exported; keys travel in `environment` and nowhere else."""
    run_dir.export_state(tracker).parent.mkdir(mode=0o700, exist_ok=True)
    run_dir.logs.mkdir(mode=0o700, exist_ok=True)
    if state.read(run_dir, tracker) is None:
        # Before it exists: if it is killed at once, the next daemon still knows that it is wanted.
        state.write(run_dir, Export(state="exporting"), tracker)
    words = ["--background", "--tracker", tracker, *(["--sync"] if sync else []), str(run_dir.root)]
    with run_dir.open(run_dir.export_log(tracker), append=True) as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "mosaic.track", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=dict(environment),
            start_new_session=True,
        )


def end(process: "subprocess.Popen[bytes]") -> None:
    """At once, with what it started in its session."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
