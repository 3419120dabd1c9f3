"""All that the window knows: runs, what is selected of them, and its curves, log and config."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from mosaic.gui.models.batch import Batch, Detail, LogLine, Machine, Notice, Opened
from mosaic.gui.models.curves import Curves
from mosaic.gui.models.feed import Feed
from mosaic.gui.models.link import Link
from mosaic.gui.models.log_model import LogModel
from mosaic.gui.models.runs_model import RunsModel
from mosaic.gui.models.wording import name_of
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import LIVE

MOST_DRAWN = 24
"""Runs that are drawn at once; of a larger selection these are the first."""


class Studio(QObject):
    """Takes batches in the GUI thread; the views read it and listen to its signals."""

    runs_changed = Signal()
    """A run came, went or moved on."""
    selection_changed = Signal()
    opened_changed = Signal(str)
    """New points or config of this run."""
    machine_changed = Signal()
    noticed = Signal(object)

    def __init__(self, home: Home, feed: Feed, link: Link) -> None:
        super().__init__()
        self.home = home
        self.link = link
        self.runs = RunsModel()
        self.curves = Curves()
        self.log = LogModel()
        self.machine: Machine | None = None
        self.current = ""
        """The run whose log and config are shown: the first of the selected."""
        self._selected: tuple[str, ...] = ()
        self._colours: dict[str, int] = {}
        self._details: dict[str, Detail] = {}
        self._lines: dict[str, list[LogLine]] = {}
        self._feed = feed
        feed.arrived.connect(self.take)
        link.call_failed.connect(lambda error: self.noticed.emit(Notice(str(error))))

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
        return self._details.get(self.current)

    def colour_of(self, run_id: str) -> int:
        return self._colours.get(run_id, 0)

    def select(self, run_ids: Sequence[str]) -> None:
        """Look at these runs; the first one's log and config are shown."""
        drawn = tuple(run_ids[:MOST_DRAWN])
        if drawn == self._selected:
            return
        if len(run_ids) > MOST_DRAWN:
            self.noticed.emit(Notice(f"{MOST_DRAWN} of the {len(run_ids):,} selected runs are drawn"))
        self._selected = drawn
        # A run keeps its colour as long as it is selected.
        self._colours = {run_id: place for run_id, place in self._colours.items() if run_id in drawn}
        for run_id in drawn:
            taken = set(self._colours.values())
            self._colours.setdefault(run_id, next(place for place in range(MOST_DRAWN) if place not in taken))
        self.runs.colour(dict(self._colours))
        self.curves.keep(drawn)
        self._details = {run_id: detail for run_id, detail in self._details.items() if run_id in drawn}
        self._lines = {run_id: lines for run_id, lines in self._lines.items() if run_id in drawn}
        self._show(drawn[0] if drawn else "")
        self.selection_changed.emit()
        self._feed.open(drawn)

    def take(self, batch: Batch) -> None:
        for run_id in batch.removed:
            self._forget(run_id)
        self.runs.take(batch.records)
        for news in batch.opened:
            if news.run_id in self._selected:
                self._take_opened(news)
        for notice in batch.notices:
            if not notice.run_id or self.runs.add_notice(notice.run_id, notice.message):
                self.noticed.emit(notice)
        if batch.records or batch.removed:
            self.runs_changed.emit()
        if batch.machine is not None:
            self.machine = batch.machine
            self.machine_changed.emit()

    def _take_opened(self, news: Opened) -> None:
        self.curves.take(news)
        lines = self._lines.setdefault(news.run_id, [])
        if news.restarted:
            lines.clear()
        lines += news.lines
        if news.run_id == self.current:
            if news.restarted:
                self.log.reset(lines)
            else:
                self.log.append(news.lines)
        if news.detail is not None:
            self._details[news.run_id] = news.detail
        self.opened_changed.emit(news.run_id)

    def _show(self, run_id: str) -> None:
        if run_id != self.current:
            self.current = run_id
            self.log.reset(self._lines.get(run_id, ()))

    def _forget(self, run_id: str) -> None:
        record = self.runs.get(run_id)
        self.runs.remove([run_id])
        if record is not None:
            self.noticed.emit(Notice(f"{name_of(record)} is gone: its directory was deleted or moved away"))
        if run_id in self._selected:
            self.select([other for other in self._selected if other != run_id])
