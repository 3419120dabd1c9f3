"""What a table of runs shows beside their records: settings from the config, and each metric in a few numbers.

A summary is made from the columns of metrics once, and again when the run has newer events: an ended run is read once
as long as the daemon lives.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mosaic import config
from mosaic.errors import ConfigError, RunNotFound
from mosaic.plain_text import json_text
from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec import config_settings
from mosaic.spec.files.files_of_run import NotAFile
from mosaic.spec.files.shared_files import read_small
from mosaic.spec.return_tags import is_return
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord
from mosaic.trainer.index.metric_columns import RunMetrics

ANSWER_S = 2.0
"""What takes longer than this is left to the client's next question."""
NAN = float("nan")
KEPT = 20_000
"""Runs whose summaries are remembered."""


@dataclass
class _Known:
    """Summaries of one run as of one event."""

    last_seq: int
    by_tag: dict[str, pb.MetricSummary | None] = field(default_factory=dict[str, "pb.MetricSummary | None"])
    """None for a tag that the run does not have."""
    tags: list[str] | None = None


class RunValues:
    """Answers from any thread."""

    def __init__(
        self, home: Home, get: Callable[[str], RunRecord], metrics_of: Callable[[RunRecord], RunMetrics]
    ) -> None:
        self._home, self._get, self._metrics_of = home, get, metrics_of
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, request: pb.GetRunValuesRequest) -> pb.GetRunValuesReply:
        reply = pb.GetRunValuesReply()
        until = time.monotonic() + ANSWER_S
        for run_id in request.run_ids:
            reply.looked_at += 1
            try:
                record = self._get(run_id)
            except RunNotFound:
                continue  # Deleted since the client asked.
            reply.runs.append(self._of_one(record, request))
            if time.monotonic() > until:
                break
        return reply

    def _of_one(self, record: RunRecord, request: pb.GetRunValuesRequest) -> pb.RunValues:
        values = pb.RunValues(run_id=record.run_id)
        if request.settings:
            try:
                document = config.loads(read_small(self._home.run(record.run_id).config), what="config.json")
                values.settings_json = json_text(config_settings.settings_of(document)).encode()
            except NotAFile:
                pass  # A run that was imported, or started without a config: it has no settings.
            except (OSError, ConfigError) as error:
                values.problem = str(error)
        if request.metrics or request.metric_tags:
            self._sum_up(record, request.metrics, values, with_tags=request.metric_tags)
        return values

    def _sum_up(self, record: RunRecord, tags: Sequence[str], values: pb.RunValues, *, with_tags: bool) -> None:
        with self._lock:
            known = self._known.pop(record.run_id, None)
            if known is None or known.last_seq != record.last_seq:
                known = _Known(record.last_seq)
            self._known[record.run_id] = known
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        missing = [tag for tag in tags if tag not in known.by_tag]
        if missing or (with_tags and known.tags is None):
            metrics = self._metrics_of(record)
            known.tags = metrics.tags
            known.by_tag.update({tag: _summary(metrics, tag) for tag in missing})
        for tag in tags:
            if (summary := known.by_tag[tag]) is not None:
                values.metrics[tag].CopyFrom(summary)
        if with_tags:
            values.metric_tags.extend(known.tags or ())


def _summary(metrics: RunMetrics, tag: str) -> pb.MetricSummary | None:
    rows, total = metrics.read(tag)
    if not total:
        return None
    numbers = rows[rows[:, 1] == rows[:, 1]]  # without those that are NaN
    summary = pb.MetricSummary(last=float(rows[-1, 1]), points=total, highest=NAN, lowest=NAN, auc=NAN)
    if len(numbers):
        # Here, because it brings numpy, which a daemon that shows no metrics need not load.
        from mosaic.statistics.sample_efficiency import WINDOW, area_under

        steps, heights = numbers[:, 0], numbers[:, 1]
        summary.highest, summary.lowest = float(heights.max()), float(heights.min())
        summary.auc = area_under(steps, heights, float(steps[-1]), WINDOW if is_return(tag) else 1)
    return summary
