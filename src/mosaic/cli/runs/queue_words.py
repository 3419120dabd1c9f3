"""What queued runs wait for, for the tables of the command line."""

from collections.abc import Iterable, Mapping

from mosaic.rpc.client import Client
from mosaic.spec import queue_place
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import LIVE, RunState


def waits(client: Client, runs: Iterable[RunRecord]) -> Mapping[str, str]:
    """By run id, of those that are queued; the daemon is asked only if there are any."""
    queued = [run.run_id for run in runs if run.state is RunState.QUEUED]
    if not queued:
        return {}
    health = client.health()
    known = client.list(states=(RunState.QUEUED, *sorted(LIVE)))
    order, left = queue_place.in_order(known), queue_place.seconds_left(known)
    slots, used = health.cpu_slots, health.cpu_slots_used
    found = {run_id: queue_place.why_queued(run_id, order, left, slots=slots, used=used) for run_id in queued}
    return {run_id: why for run_id, why in found.items() if why}
