"""The states of a run, the sets of states, and the one function that moves between them."""

from collections.abc import Mapping
from enum import StrEnum

from mosaic.errors import InvalidTransition


class RunState(StrEnum):
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"


TERMINAL = frozenset({RunState.FINISHED, RunState.FAILED, RunState.CANCELLED, RunState.LOST})
LIVE = frozenset({RunState.STARTING, RunState.RUNNING, RunState.PAUSED, RunState.STOPPING})
"""States in which a worker process may exist."""

_NEXT: Mapping[RunState, frozenset[RunState]] = {
    RunState.QUEUED: frozenset({RunState.STARTING, RunState.CANCELLED, RunState.FAILED}),
    RunState.STARTING: frozenset({RunState.RUNNING, RunState.STOPPING}) | TERMINAL,
    RunState.RUNNING: frozenset({RunState.PAUSED, RunState.STOPPING}) | TERMINAL,
    # A pause that lasts gives its resources back: the run waits in the queue until it is continued.
    RunState.PAUSED: frozenset({RunState.RUNNING, RunState.QUEUED, RunState.STOPPING}) | TERMINAL,
    RunState.STOPPING: TERMINAL,
}


def reopen(current: RunState, *, run_id: str) -> RunState:
    """The first state of a further attempt: only an ended run gets one. The end of each attempt stays in its events."""
    if current not in TERMINAL:
        raise InvalidTransition(f"run {run_id} is {current}; only an ended run can be resumed")
    return RunState.QUEUED


def can_move(current: RunState, wanted: RunState) -> bool:
    return wanted in _NEXT.get(current, frozenset())


def move(current: RunState, wanted: RunState, *, run_id: str) -> RunState:
    """The state after this move; a terminal state is written once and never changes."""
    if can_move(current, wanted):
        return wanted
    if current in TERMINAL:
        raise InvalidTransition(f"run {run_id} already ended as {current}; it cannot become {wanted}")
    raise InvalidTransition(f"run {run_id} is {current}; it cannot become {wanted}")


KILLED_FROM_OUTSIDE = "the worker was killed by SIGKILL, sent by another process: the kernel killed none for memory"
"""The reason of a failure for which the run itself is not to blame."""
