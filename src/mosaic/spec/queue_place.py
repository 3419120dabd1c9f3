"""Why a run waits in the queue, in words: how much of the machine is taken, its place, and about how long."""

from collections.abc import Iterable, Sequence

from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import LIVE, RunState

PLAY = "play"
"""Sessions take no slot and wait for nothing."""


def turn(run: RunRecord) -> tuple[int, str]:
    """Orders queued runs as the daemon starts them: highest priority first, then in order of submission."""
    return -run.priority, run.run_id


def in_order(records: Iterable[RunRecord]) -> list[str]:
    """Ids of the queued runs as the daemon starts them."""
    queued = [run for run in records if run.state is RunState.QUEUED and run.kind != PLAY]
    return [run.run_id for run in sorted(queued, key=turn)]


def seconds_left(records: Iterable[RunRecord]) -> list[float | None]:
    """Of the runs that hold a slot, what is left of each, the shortest first; those that cannot tell come last."""
    left = [run.eta_s for run in records if run.state in LIVE and run.kind != PLAY]
    return sorted(left, key=lambda one: float("inf") if one is None else one)


def why_queued(run_id: str, order: Sequence[str], left: Sequence[float | None], *, slots: int, used: int) -> str:
    """`2 of 2 slots used, position 1, about 4 min`; `slots` is 0 where the daemon has not said."""
    if run_id not in order:
        return ""
    place = order.index(run_id)
    wait = left[place] if place < len(left) else None
    parts = [f"{used} of {slots} slots used"] if slots else []
    parts.append(f"position {place + 1}")
    if wait is not None:
        parts.append(about(wait))
    return ", ".join(parts)


def about(seconds: float) -> str:
    """An estimate, as rough as it is."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return "under a minute"
    return f"about {minutes} min" if minutes < 90 else f"about {round(seconds / 3600)} h"
