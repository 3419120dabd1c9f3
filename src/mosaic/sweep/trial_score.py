"""What a run of a trial is worth: the mean of the last 100 points of the sweep's metric, as `mosaic stats` has it."""

import math
from dataclasses import dataclass

from mosaic.rpc.client import Client, Series
from mosaic.spec.return_tags import is_return
from mosaic.sweep.sweep_plan import RETURN

LAST = 100
"""Points at the end, of the default metric episodes."""


@dataclass(frozen=True)
class Score:
    value: float | None
    problem: str = ""
    """Why there is no value."""
    is_missing: bool = False
    """The run has logged no point of the metric."""


def score(client: Client, run_id: str, metric: str, *, up_to: int = 0) -> Score:
    """Of the whole run, or of what it had logged up to a step."""
    found = _series(client, run_id, metric, up_to)
    if found is None or not found.values:
        return Score(None, _missing(client, run_id, metric), is_missing=True)
    values = found.values[-LAST:]
    if wrong := sum(not math.isfinite(value) for value in values):
        return Score(None, f"{wrong} of the last {len(values)} points of {found.tag} are not finite numbers")
    return Score(math.fsum(values) / len(values))


def _series(client: Client, run_id: str, metric: str, up_to: int) -> Series | None:
    found = client.metrics(run_id, tags=[metric], max_step=up_to).get(metric)
    if found is None and metric == RETURN:
        # Scripts log it under names of their own.
        others = [tag for tag in client.tags(run_id) if is_return(tag)]
        found = client.metrics(run_id, tags=others[:1], max_step=up_to).get(others[0]) if others else None
    return found


def _missing(client: Client, run_id: str, metric: str) -> str:
    tags = list(client.tags(run_id))
    if metric == RETURN:
        return (
            f"run {run_id} has logged no {metric}: none of its episodes has ended. Give --total-timesteps that holds"
            " some, or another --metric"
        )
    listed = f"it logs {', '.join(tags)}" if tags else "it logs nothing"
    return f"run {run_id} has logged no '{metric}'; {listed}: give one of these as --metric"
