"""From a worker's end to the state of its run and the reason that people read."""

import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState
from mosaic.trainer.ingest import Ending

BAD = frozenset({RunState.FAILED, RunState.LOST})
STDERR_LINES = 20
TAIL_BYTES = 16 * 1024
FULL_BYTES = 2**20
OWN_WORD = "error: "
"""What the worker's command line begins its last message with."""


def verdict(
    record: RunRecord, ending: Ending | None, code: int | None, tail: Sequence[str], *, killed: bool
) -> tuple[RunState, str]:
    """State and reason of a run whose worker is gone, from what it said and how it ended."""
    if record.cancel_asked:
        if ending is not None and ending.completed and record.kind == "policy_eval":
            return RunState.FINISHED, "ended by the user; what was evaluated is kept"
        how = "killed after it did not end by itself" if killed else "ended by the user after a checkpoint"
        return RunState.CANCELLED, how if ending or killed else "cancelled by the user"
    if ending is not None and ending.completed:
        return RunState.FINISHED, "stopped early by a signal; a checkpoint is kept" if ending.stopped else ""
    if ending is not None:
        return RunState.FAILED, ending.message
    if code is None:
        return RunState.LOST, "the worker is gone and nobody knows how it ended; resume it from its last checkpoint"
    if code < 0:
        hint = "; the machine may have run out of memory" if -code == signal.SIGKILL else ""
        return RunState.FAILED, f"the worker was killed by {_name(-code)}{hint}"
    if said := _last_words(tail):
        return RunState.FAILED, said
    if shutil.disk_usage(record.run_dir).free < FULL_BYTES:
        return RunState.FAILED, f"the worker ended with exit code {code}; the disk is full: free some and resume it"
    return RunState.FAILED, f"the worker ended with exit code {code} without a word"


def last_lines(path: Path) -> tuple[str, ...]:
    if not path.exists():
        return ()
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        return tuple(file.read().decode(errors="replace").splitlines()[-STDERR_LINES:])


def _last_words(tail: Sequence[str]) -> str:
    """The worker's own message, whole; or the last line of a traceback."""
    starts = [index for index, line in enumerate(tail) if line.startswith(OWN_WORD)]
    if starts:
        return "\n".join(tail[starts[-1] :]).removeprefix(OWN_WORD).strip()
    return next((line.strip() for line in reversed(tail) if line.strip()), "")


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
