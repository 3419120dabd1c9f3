"""Carries news from the daemon to the GUI thread: a thread for each kind, one signal, one piece at a time."""

import threading
import time
from collections.abc import Callable

from PySide6.QtCore import Signal

from mosaic.gui.models import shown_text
from mosaic.gui.models.background_work import BackgroundWork
from mosaic.gui.models.daemon.alerts_listener import AlertsListener
from mosaic.gui.models.daemon.curves_listener import CurvesListener, Opening
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.daemon.daemon_listener import DaemonListener
from mosaic.gui.models.daemon.gathered_messages import Gathered
from mosaic.gui.models.daemon.log_listener import Following, LogListener
from mosaic.gui.models.daemon.log_request import LogFilter, LogRequest
from mosaic.gui.models.daemon.news import Batch, Notice
from mosaic.rpc.client import Client
from mosaic.spec.run_record import RunRecord

END_S = 1.0


class NewsFeed(BackgroundWork):
    """All runs, and curves and log of those that are opened; hands each piece to `arrived` in the GUI thread."""

    arrived = Signal(object)
    """A Batch."""
    _posted = Signal(object, object)

    def __init__(self, link: DaemonLink) -> None:
        super().__init__()
        self._posting = threading.Lock()
        self._taken = threading.Event()
        self._stopping = threading.Event()
        runs = RunsListener(self._post)
        self._curves = CurvesListener(self._post, runs.records)
        self._log = LogListener(self._post, runs.records)
        self._fetching = DaemonListener("curves", link, self._curves.hear, self._complain)
        self._following = [
            pages := DaemonListener("log", link, self._log.hear_pages, self._complain),
            counts := DaemonListener("log lines", link, self._log.hear_counts, self._complain),
            DaemonListener("events", link, self._log.hear_events, self._complain),
        ]
        self._pages, self._counts = pages, counts
        self._hearings = [
            DaemonListener("runs", link, runs.hear, self._complain),
            DaemonListener("alerts", link, AlertsListener(self._post).hear, self._complain),
            self._fetching,
            *self._following,
        ]
        self._posted.connect(self._deliver)

    def start(self) -> None:
        for listener in self._hearings:
            listener.start(self)

    def open(self, run_ids: tuple[str, ...]) -> None:
        """Hand out the curves of these runs from now on, and of no others; and the log of the first."""
        self._curves.open(run_ids)
        self._fetching.turn()
        if self._log.follow(run_ids[0] if run_ids else ""):
            for listener in self._following:
                listener.turn()

    def ask_log(self, request: LogRequest) -> None:
        """A page of the log of the opened run, or a line with a text; it arrives as a batch."""
        self._log.ask(request)
        self._pages.turn()

    def count_log(self, run_id: str, wanted: LogFilter) -> None:
        """Tell again and again how many lines of the opened run's log fit."""
        self._log.count(run_id, wanted)
        self._counts.turn()

    def stop(self) -> None:
        self._stopping.set()
        for listener in self._hearings:
            listener.stop()
        self._taken.set()
        deadline = time.monotonic() + END_S
        for listener in self._hearings:
            listener.join(max(deadline - time.monotonic(), 0.0))

    def _complain(self, message: str) -> None:
        self._post(Batch(notices=(Notice(message),)))

    def _post(self, batch: Batch, of: Opening | Following | None = None) -> None:
        """Called by the threads; returns when the piece was taken, so that none piles up."""
        with self._posting:
            # Cleared before the flag is read, because stop() sets the flag first: so no thread waits for ever.
            self._taken.clear()
            if not self._stopping.is_set():
                self.tell(self._posted, batch, of)
                self._taken.wait()

    def _deliver(self, batch: Batch, of: Opening | Following | None) -> None:
        # What was under way when its run was closed is of no use, and would mix with a later opening's.
        if not self._stopping.is_set() and not (of and of.is_closed):
            self.arrived.emit(batch)
        self._taken.set()


PAGE = 500
"""Runs handed over at once."""
PAUSE_S = 0.02
"""Between two pages, and two lists of changes: the GUI thread gets the interpreter in between."""


class RunsListener:
    """After each loss of the daemon the whole list is compared: its index may be another by then."""

    def __init__(self, post: Callable[[Batch], None]) -> None:
        self._post = post
        self.records: dict[str, RunRecord] = {}
        """The newest of each run; read by other threads."""

    def hear(self, listener: DaemonListener, client: Client) -> float:
        revision = self._compare(listener, client)
        stream = client.watch_runs(after_revision=revision)
        listener.reading(stream)
        for changes in Gathered(stream):
            newest = {record.run_id: record for record in changes}
            self._take([record for record in newest.values() if not record.deleted])
            self._drop([run_id for run_id, record in newest.items() if record.deleted])
            listener.wait(PAUSE_S)
        return 0.0

    def _compare(self, listener: DaemonListener, client: Client) -> int:
        """Take in the whole list; the revision behind which changes may have been missed."""
        revision: int | None = None
        listed: set[str] = set()
        token = ""
        while not listener.stopping:
            runs, token = client.page(size=PAGE, token=token)
            if revision is None:
                # Of the first page: a run that changes while the others are read has a higher one.
                revision = max((record.revision for record in runs), default=0)
            listed.update(record.run_id for record in runs)
            self._take([record for record in runs if self._is_news(record)])
            if not token:
                self._drop([run_id for run_id in self.records if run_id not in listed])
                break
            listener.wait(PAUSE_S)
        return revision or 0

    def _is_news(self, record: RunRecord) -> bool:
        known = self.records.get(record.run_id)
        return known is None or known.revision != record.revision

    def _take(self, heard: list[RunRecord]) -> None:
        records = shown_text.records(heard)
        self.records |= {record.run_id: record for record in records}
        if records:
            self._post(Batch(records=tuple(records)))

    def _drop(self, run_ids: list[str]) -> None:
        gone = [run_id for run_id in run_ids if self.records.pop(run_id, None) is not None]
        if gone:
            self._post(Batch(removed=tuple(gone)))
