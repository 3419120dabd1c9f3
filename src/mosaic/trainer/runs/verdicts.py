"""From a worker's end to the state of its run and the reason that the user reads."""

import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from mosaic.scripts.script import is_script
from mosaic.spec.run_dir import RunDir
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import KILLED_FROM_OUTSIDE, RunState
from mosaic.trainer.engines.engine import Collected
from mosaic.trainer.index.ingest import Ending
from mosaic.trainer.runs import out_of_memory
from mosaic.trainer.runs.out_of_memory import KernelCounts, Usage

STDERR_LINES = 20
TAIL_BYTES = 16 * 1024
FULL_BYTES = 16 * 2**20
"""Less than this counts as full: a worker that fails gives back what it could not finish writing."""
UNWRITABLE = (4, 120)
"""Exit codes of a worker whose disk was full: its own, and Python's for streams that it could not flush at the end."""
OWN_WORD = "error: "
"""What the worker's command line begins its last message with."""


@dataclass(frozen=True)
class Memory:
    """What is known of a worker's memory."""

    usage: Usage
    before: KernelCounts
    """While it lived."""


@dataclass(frozen=True)
class Verdict:
    """What the end of a worker makes of its run."""

    state: RunState
    reason: str
    ending: Ending | None
    exit_code: int | None
    stderr_tail: tuple[str, ...] = ()
    again: str = ""
    """Why it goes on from its newest checkpoint: neither the run nor a user is the reason of the end."""


def judge(
    record: RunRecord,
    ending: Ending | None,
    collected: Collected,
    tail: tuple[str, ...],
    *,
    killed: bool,
    kernel: KernelCounts,
) -> Verdict:
    """From what the worker said and how it ended."""
    code, memory = collected.exit_code, Memory(collected.usage, kernel)
    if record.cancel_asked:
        return Verdict(*_cancelled(record, ending, killed=killed), ending, code)
    if collected.again and (ending is None or (ending.completed and ending.stopped)):
        return Verdict(RunState.LOST, collected.again, ending, code, tail, again=collected.again)
    if ending is not None and ending.completed:
        kept = "" if is_script(record.algo) else "; a checkpoint is kept"
        reason = ending.message or (f"stopped early by a signal{kept}" if ending.stopped else "")
        return Verdict(RunState.FINISHED, reason, ending, code)
    if ending is not None:
        reason = out_of_memory.in_words(ending.message, memory.usage) or ending.message
        return Verdict(RunState.FAILED, reason, ending, code, tail)
    if collected.reason:
        return Verdict(RunState.LOST if code is None else RunState.FAILED, collected.reason, ending, code, tail)
    if code is None:
        reason = "the worker is gone, and how it ended is not known; resume it from its last checkpoint"
        return Verdict(RunState.LOST, reason, ending, code, tail)
    return Verdict(RunState.FAILED, _wordless(record, code, tail, memory), ending, code, tail)


def _cancelled(record: RunRecord, ending: Ending | None, *, killed: bool) -> tuple[RunState, str]:
    if ending is not None and ending.completed and record.kind == "policy_eval":
        return RunState.FINISHED, "ended by the user; what was evaluated is kept"
    if killed:
        return RunState.CANCELLED, "killed after it did not end by itself"
    if ending is None:
        return RunState.CANCELLED, "cancelled by the user"
    if is_script(record.algo):
        return RunState.CANCELLED, "ended by the user"
    if not ending.completed:
        # Asked to end, it could not do so in good order: the run says why, and claims no checkpoint.
        return RunState.CANCELLED, f"ended by the user; {ending.message}"
    return RunState.CANCELLED, f"ended by the user{' after a checkpoint' if record.kind == 'train' else ''}"


def _wordless(record: RunRecord, code: int, tail: Sequence[str], memory: Memory) -> str:
    """The reason of a failure that the worker could not write down as an event."""
    if code == -signal.SIGKILL:
        by_kernel = out_of_memory.of_a_kill(record.pid, memory.usage, memory.before)
        return by_kernel or KILLED_FROM_OUTSIDE
    if code == -signal.SIGABRT and (reason := out_of_memory.in_words("\n".join(tail), memory.usage)):
        return reason
    if code < 0:
        return f"the worker was killed by {_name(-code)}"
    if code in UNWRITABLE and not tail:
        return f"the worker could not write to its disk (exit code {code}); free some and resume the run"
    if shutil.disk_usage(record.run_dir).free < FULL_BYTES:
        return f"the disk is full (the worker ended with exit code {code}); free some and resume the run"
    words = _last_words(tail)
    if words and (reason := out_of_memory.in_words(words, memory.usage)):
        return reason
    return words or f"the worker ended with exit code {code} without a message"


def last_lines(run_dir: RunDir) -> tuple[str, ...]:
    """Of its stderr."""
    if run_dir.look(run_dir.stderr) is None:
        return ()
    with run_dir.open(run_dir.stderr) as file:
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
