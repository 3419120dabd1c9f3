"""Policies beside each other, after each has played the same episodes, as far as its environment can be told to."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic.cli.evaluation.evaluate import iqm_of
from mosaic.cli.runs.run_by_name import shown_id
from mosaic.cli.terminal.printing import clean, note, print_json, table
from mosaic.rpc.client import Client
from mosaic.rpc.policy_info import PolicyInfo
from mosaic.spec.return_statistics import Paired, paired
from mosaic.spec.run_record import RunRecord

RETURNS = "eval/episodic_return"
PAIRED = "paired: every policy played the same episodes, so the difference is of each episode with itself"
UNPAIRED = (
    "not paired: these environments have one generator for all, so only the first episode of each is the same for"
    " every policy; the luck of the others is in the difference and its interval"
)


def show(
    client: Client,
    policies: Sequence[PolicyInfo],
    runs: Sequence[RunRecord],
    summaries: Sequence[Mapping[str, Any]],
    *,
    json: bool,
) -> None:
    """Each policy's result, and what it returns more than the first one, episode by episode."""
    returns = [returns_of(client, run) for run in runs]
    pairs = [None, *(paired(each, returns[0]) for each in returns[1:])]
    compared = list(zip(policies, runs, summaries, pairs, strict=True))
    if json:
        for policy, run, summary, pair in compared:
            print_json({**summary, "run_id": run.run_id, "policy": policy.path} | _as_json(pair))
        return
    rows = [_row(*each) for each in compared]
    names = ("run", "policy", "episodes", "mean", "IQM [95 %]", "more than the first [95 %]", "better in")
    for line in table(names, rows, right=("episodes", "mean"), shrink="policy"):
        print(line)
    note(PAIRED if all(summary.get("each_seeded", True) for summary in summaries) else UNPAIRED)


def returns_of(client: Client, run: RunRecord) -> dict[int, float]:
    """Returns by the place of the episode, which has the same seed in every evaluation that began with this seed."""
    series = client.metrics(run.run_id, tags=[RETURNS]).get(RETURNS)
    return {} if series is None else dict(zip(series.steps, series.values, strict=True))


def _row(policy: PolicyInfo, run: RunRecord, summary: Mapping[str, Any], pair: Paired | None) -> list[str]:
    more, better = "–", "–"
    if pair is not None:
        more = pair.difference.text(pair.episodes, "+.1f")
        better = f"{pair.better:.0%}"
    return [
        shown_id(run.run_id),
        clean(policy.label or Path(policy.path).name),
        str(summary["episodes"]),
        f"{float(summary['mean']):.1f}",
        iqm_of(summary).text(summary["episodes"]),
        more,
        better,
    ]


def _as_json(pair: Paired | None) -> dict[str, Any]:
    if pair is None:
        return {}
    difference = pair.difference.as_json()
    return {
        "paired": {
            "episodes": pair.episodes,
            "difference": difference["value"],
            "low": difference["low"],
            "high": difference["high"],
            "better": pair.better,
            "equal": pair.equal,
        }
    }
