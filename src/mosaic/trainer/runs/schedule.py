"""Which queued runs may start now: highest priority first, then in order of submission; no run is overtaken.

A play session has a user waiting in front of it: it takes no slot, and begins at once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mosaic.spec.queue_place import PLAY, turn
from mosaic.spec.run_record import RunRecord


@dataclass(frozen=True)
class Slots:
    """What the machine can carry."""

    cpus: int
    gpus: int = 0


@dataclass(frozen=True)
class Free:
    """What is left of it."""

    cpus: int
    gpus: tuple[float, ...]
    """Free share of each GPU."""


def choose(queued: Iterable[RunRecord], live: Sequence[RunRecord], slots: Slots) -> list[RunRecord]:
    """The runs to start, with the GPUs that they get; the first that does not fit holds back all behind it."""
    free = left_over(live, slots)
    chosen: list[RunRecord] = []
    for record in sorted(queued, key=lambda run: (run.kind != PLAY, *turn(run))):
        if record.kind == PLAY:
            chosen.append(record)
            continue
        # A run that asks for more than the machine has waits until it has the whole machine to itself.
        cpus = min(record.cpus, slots.cpus)
        gpu_ids = _pick_gpus(record.gpus, free.gpus)
        if cpus > free.cpus or gpu_ids is None:
            break
        share = record.gpus if 0 < record.gpus < 1 else 1.0
        gpus = tuple(left - share if index in gpu_ids else left for index, left in enumerate(free.gpus))
        free = Free(free.cpus - cpus, gpus)
        chosen.append(replace(record, gpu_ids=gpu_ids))
    return chosen


def left_over(live: Sequence[RunRecord], slots: Slots) -> Free:
    used = sum(min(run.cpus, slots.cpus) for run in live if run.kind != PLAY)
    gpus = [1.0] * slots.gpus
    for run in live:
        for index in run.gpu_ids:
            if index < len(gpus):
                gpus[index] -= run.gpus if run.gpus < 1 else 1.0
    return Free(slots.cpus - used, tuple(gpus))


def _pick_gpus(wanted: float, free: tuple[float, ...]) -> tuple[int, ...] | None:
    """A share of the fullest GPU that still has room, or that many whole ones; None if there is no room."""
    if wanted <= 0:
        return ()
    # Shares are decimal fractions: three thirds must fit into one.
    room = [index for index, left in enumerate(free) if left + 1e-6 >= min(wanted, 1.0)]
    if wanted < 1:
        return (min(room, key=lambda index: free[index]),) if room else None
    return tuple(room[: int(wanted)]) if len(room) >= int(wanted) else None
