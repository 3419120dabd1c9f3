"""What can be done to a run, by its verb: in which states, and the daemon's call; for the CLI and the window."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mosaic.errors import MosaicError
from mosaic.rpc.client import Client
from mosaic.rpc.locate import DaemonUnavailable
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL, RunState

Ask = Callable[[Client, RunRecord], RunRecord]
"""Gives the run as it is afterwards."""


@dataclass(frozen=True)
class RunVerb:
    """One of them."""

    states: frozenset[RunState]
    """Runs in other states are refused by the daemon."""
    ask: Ask


def _delete(client: Client, run: RunRecord) -> RunRecord:
    client.delete(run.run_id)
    return run


RUN_VERBS: Mapping[str, RunVerb] = {
    "pause": RunVerb(frozenset({RunState.RUNNING}), lambda client, run: client.pause(run.run_id)),
    "continue": RunVerb(frozenset({RunState.PAUSED}), lambda client, run: client.go_on(run.run_id)),
    "cancel": RunVerb(
        frozenset({RunState.QUEUED, RunState.STARTING, RunState.RUNNING, RunState.PAUSED}),
        lambda client, run: client.cancel(run.run_id),
    ),
    "resume": RunVerb(TERMINAL - {RunState.FINISHED}, lambda client, run: client.resume(run.run_id)),
    "delete": RunVerb(TERMINAL, _delete),
}


def each(client: Client, runs: Sequence[RunRecord], ask: Ask) -> Iterator[tuple[RunRecord, RunRecord | MosaicError]]:
    """Every run is tried: as it is afterwards, or why it could not be done."""
    for run in runs:
        try:
            yield run, ask(client, run)
        except DaemonUnavailable:
            raise
        except MosaicError as error:
            yield run, error
