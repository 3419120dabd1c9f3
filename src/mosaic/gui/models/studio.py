"""All that the window knows: runs, what is selected of them, and its curves, log and config."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from mosaic.errors import MosaicError
from mosaic.gui.models.charts.series import Curves
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.daemon.news import Batch, Detail, Notice
from mosaic.gui.models.daemon.news_feed import NewsFeed
from mosaic.gui.models.form.notes import Notes
from mosaic.gui.models.runs.alerts_model import Alerts
from mosaic.gui.models.runs.log_model import LogModel
from mosaic.gui.models.runs.runs_model import RunsModel
from mosaic.gui.models.wording import name_of
from mosaic.rpc.client import AlertNews
from mosaic.spec import queue_place
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import LIVE, RunState

MOST_DRAWN = 200
"""Runs that are drawn at once; of a larger selection these are the first."""


class Studio(QObject):
    """Takes batches in the GUI thread; the views read it and listen to its signals."""

    runs_changed = Signal()
    """A run came, went or moved on."""
    records_came = Signal(object, object)
    """Records that are new or newer, and ids of runs that are gone; tuples."""
    selection_changed = Signal()
    opened_changed = Signal(str)
    """New points, config or artifacts of this run."""
    noticed = Signal(object)

    def __init__(self, home: Home, feed: NewsFeed, link: DaemonLink) -> None:
        super().__init__()
        self.home = home
        self.link = link
        self.runs = RunsModel()
        self.curves = Curves()
        self.log = LogModel()
        self.notes = Notes()
        self.alerts = Alerts()
        self.current = ""
        """The run whose log and config are shown: the first of the selected."""
        self._selected: tuple[str, ...] = ()
        self._colours: dict[str, int] = {}
        self._former_colours: dict[str, int] = {}
        """Of every run that was ever drawn: it gets its colour back where no other run has taken it."""
        self._detail: Detail | None = None
        self._queue: tuple[list[str], list[float | None]] | None = None
        self.runs.why_queued = self.why_queued
        self._feed = feed
        feed.arrived.connect(self.take)
        self.log.asked.connect(feed.ask_log)
        self.log.counting.connect(feed.count_log)
        link.call_failed.connect(self._show_error)
        self.alerts.came.connect(self._show_alert)

    @property
    def selected(self) -> Sequence[str]:
        """Runs that are drawn."""
        return self._selected

    @property
    def live_count(self) -> int:
        return sum(record.state in LIVE for record in self.runs.records())

    def record(self) -> RunRecord | None:
        """The current run."""
        return self.runs.get(self.current) if self.current else None

    def detail(self) -> Detail | None:
        """Of the current run; None until it is there."""
        return self._detail

    def why_queued(self, record: RunRecord) -> str:
        """Of a queued run: what it waits for; empty of any other."""
        if record.state is not RunState.QUEUED:
            return ""
        if self._queue is None:
            known = self.runs.records()
            self._queue = queue_place.in_order(known), queue_place.seconds_left(known)
        health = self.link.health
        slots, used = (health.cpu_slots, health.cpu_slots_used) if health is not None else (0, 0)
        return queue_place.why_queued(record.run_id, *self._queue, slots=slots, used=used)

    def colour_of(self, run_id: str) -> int:
        return self._colours.get(run_id, 0)

    def select(self, run_ids: Sequence[str]) -> None:
        """Look at these runs; log and config of the first are shown."""
        drawn = tuple(run_ids[:MOST_DRAWN])
        if drawn == self._selected:
            return
        if len(run_ids) > MOST_DRAWN:
            self.noticed.emit(Notice(f"{MOST_DRAWN} of the {len(run_ids):,} selected runs are drawn"))
        self._selected = drawn
        # A run keeps its colour as long as it is selected.
        self._colours = {run_id: place for run_id, place in self._colours.items() if run_id in drawn}
        for run_id in drawn:
            if run_id not in self._colours:
                taken = set(self._colours.values())
                former = self._former_colours.get(run_id)
                free = next(place for place in range(MOST_DRAWN) if place not in taken)
                self._colours[run_id] = free if former is None or former in taken else former
        self._former_colours |= self._colours
        self.runs.colour(dict(self._colours))
        self.curves.keep(drawn)
        self._show(drawn[0] if drawn else "")
        self.selection_changed.emit()
        self._feed.open(drawn)
        # Once the feed knows the run, so that what is asked of its log is not asked of the one before.
        self.log.open(self.current)
        if (record := self.record()) is not None:
            self.log.heard_of(record)

    def take(self, batch: Batch) -> None:
        if batch.removed:
            self._forget(batch.removed)
        self._queue = None
        self.runs.take(batch.records)
        for points in batch.points:
            self.curves.take(points)
            self.opened_changed.emit(points.run_id)
        for answer in batch.log:
            self.log.take(answer)
        for detail in batch.details:
            self._detail = detail
            self.opened_changed.emit(detail.run_id)
        for notice in batch.notices:
            if not notice.run_id or self.runs.add_notice(notice.run_id, notice.message):
                self.noticed.emit(notice)
        self.alerts.take(batch.alerts)
        if (current := self.record()) is not None:
            self.log.heard_of(current)
        if batch.records or batch.removed:
            self.records_came.emit(batch.records, batch.removed)
            self.runs_changed.emit()

    def warn(self, message: str) -> None:
        """Tell the user; it stops nothing."""
        self.noticed.emit(Notice(message))

    def _show_alert(self, alert: AlertNews) -> None:
        is_good = alert.cause == "end"
        if not is_good:
            # The run is marked in the lists; what is said of it is there in the tool tip.
            self.runs.add_notice(alert.run_id, alert.text)
        self.noticed.emit(Notice(f"{alert.title}: {alert.text}", kind="info" if is_good else "warn"))

    def _show_error(self, error: MosaicError) -> None:
        self.warn(str(error))

    def _show(self, run_id: str) -> None:
        if run_id != self.current:
            self.current = run_id
            self._detail = None

    def _forget(self, run_ids: Sequence[str]) -> None:
        gone = self.runs.of(run_ids)
        self.runs.remove(run_ids)
        if len(gone) == 1:
            self.noticed.emit(Notice(f"{name_of(gone[0])} is gone: it was deleted", kind="info"))
        elif gone:
            self.noticed.emit(Notice(f"{len(gone):,} runs are gone: they were deleted", kind="info"))
        left = [run_id for run_id in self._selected if run_id not in run_ids]
        if len(left) < len(self._selected):
            self.select(left)
