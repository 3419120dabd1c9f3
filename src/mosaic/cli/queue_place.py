"""Where runs stand that wait in the daemon's queue, told to the user who waits for them."""

import time
from collections.abc import Sequence

from mosaic.cli.wording import plural
from mosaic.rpc.client import Client
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

START_S = 0.6
"""A run for which there is room has left the queue by then."""
LOOK_S = 0.1


def queue_place(client: Client, runs: Sequence[RunRecord]) -> str:
    """What to say of those that are still queued after a moment; empty if none is."""
    deadline = time.monotonic() + START_S
    waiting = [run for run in runs if run.state is RunState.QUEUED]
    while waiting and time.monotonic() < deadline:
        time.sleep(LOOK_S)
        waiting = [run for run in map(client.get, [run.run_id for run in waiting]) if run.state is RunState.QUEUED]
    if not waiting:
        return ""
    queue = client.list(states=(RunState.QUEUED,))
    order = [run.run_id for run in sorted(queue, key=lambda run: (-run.priority, run.run_id))]
    places = [order.index(run.run_id) + 1 for run in waiting if run.run_id in order]
    return _sentence(client, waiting, places, len(order)) if places else ""


def _sentence(client: Client, waiting: Sequence[RunRecord], places: Sequence[int], length: int) -> str:
    health = client.health()
    who = "queued" if len(waiting) == 1 else f"{plural(len(waiting), 'run')} are queued"
    where = f"number {min(places)} of {length} in the queue" if length > 1 else "first in the queue"
    full = f"{health.cpu_slots_used} of {plural(health.cpu_slots, 'CPU slot')} in use"
    return f"{who}: {where}; {full} ('mosaic runs --state running --kind all' lists by what)"
