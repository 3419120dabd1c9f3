"""Settings and metrics of runs, fetched from the daemon in pages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mosaic import config
from mosaic.config import JsonValue
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.client import Client
from mosaic.run_table.filter_expression import needed
from mosaic.run_table.table_rows import Summary, TableRows

PAGE = 250
"""Runs asked for at once."""


@dataclass(frozen=True)
class RunValues:
    """Of one run."""

    run_id: str
    settings: Mapping[str, JsonValue] | None = None
    """None if they were not asked for."""
    metrics: Mapping[str, Summary | None] = field(default_factory=dict[str, "Summary | None"])
    """None for a tag that the run has not logged."""
    metric_tags: Sequence[str] = ()
    problem: str = ""
    """Why it has no settings."""


def pages(
    client: Client, run_ids: Sequence[str], *, settings: bool = False, metrics: Sequence[str] = (), tags: bool = False
) -> Iterator[list[RunValues]]:
    """Of these runs, as they come; a run that is gone has none."""
    left = list(run_ids)
    while left:
        reply = client.run_values(left[:PAGE], settings=settings, metrics=metrics, metric_tags=tags)
        yield [_values(run, settings=settings, metrics=metrics) for run in reply.runs]
        left = left[max(1, reply.looked_at) :]


def fetch(client: Client, table: TableRows, names: Sequence[str]) -> None:
    """What these columns of a table need and do not have yet."""
    settings, tags = needed(names)
    if settings:
        take(table, pages(client, table.without_settings(), settings=True))
    for tag in tags:
        take(table, pages(client, table.without_metric(tag), metrics=[tag], tags=True))


def take(table: TableRows, found: Iterator[list[RunValues]]) -> None:
    for page in found:
        put(table, page)


def put(table: TableRows, page: Sequence[RunValues]) -> None:
    for run in page:
        if run.settings is not None:
            table.take_settings(run.run_id, run.settings)
        if run.metrics:
            table.take_metrics(run.run_id, run.metrics)
        table.metric_tags.update(dict.fromkeys(run.metric_tags))


def _values(run: pb.RunValues, *, settings: bool, metrics: Sequence[str]) -> RunValues:
    found: Mapping[str, JsonValue] = config.loads(run.settings_json) if run.settings_json else {}
    return RunValues(
        run.run_id,
        found if settings else None,
        {tag: _summary(run.metrics[tag]) if tag in run.metrics else None for tag in metrics},
        list(run.metric_tags),
        run.problem,
    )


def _summary(message: pb.MetricSummary) -> Summary:
    return Summary(message.last, message.highest, message.lowest, message.auc, message.points)
