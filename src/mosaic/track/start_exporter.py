"""Starting an exporter: a process in a session of its own, which outlives the process that starts it."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping

from mosaic.spec.processes.python_child import PythonChild
from mosaic.spec.run_dir import RunDir
from mosaic.track import export_state
from mosaic.track.export_state import WANDB, Export


def start(
    run_dir: RunDir, environment: Mapping[str, str], *, tracker: str = WANDB, sync: bool = False
) -> "subprocess.Popen[bytes]":
    """Export a run, or upload what was exported; keys travel in `environment` and nowhere else."""
    run_dir.export_state(tracker).parent.mkdir(mode=0o700, exist_ok=True)
    run_dir.logs.mkdir(mode=0o700, exist_ok=True)
    if export_state.read(run_dir, tracker) is None:
        # Before it exists: if it is killed at once, the next daemon still knows that it is wanted.
        export_state.write(run_dir, Export(state="exporting"), tracker)
    words = ("--background", "--tracker", tracker, *(["--sync"] if sync else []), str(run_dir.root))
    with run_dir.open(run_dir.export_log(tracker), append=True) as log:
        return exporter(*words, tracker=tracker, base=environment).popen(
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )


def exporter(*words: str, tracker: str = WANDB, base: Mapping[str, str] | None = None) -> PythonChild:
    """`python -m mosaic.track`, with the keys of its tracker alone.

    In the working directory of the process that starts it, because relative paths in the variables of trackers and a
    file `.env` there count (docs/tracking.md).
    """
    return PythonChild(module="mosaic.track", words=words, keys=(tracker,), base=base, cwd=None)


def end(process: "subprocess.Popen[bytes]") -> None:
    """At once, with what it started in its session."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
