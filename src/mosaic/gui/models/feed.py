"""Carries batches from a source to the GUI thread: one thread that polls, one signal, never more than one in flight."""

import threading

from PySide6.QtCore import QObject, Signal

from mosaic.gui.models.batch import Batch, Notice, Source
from mosaic.log import get_logger

IDLE_S = 0.25
"""Between two looks when nothing is left to read."""
BUSY_S = 0.02
"""Between two looks otherwise: the GUI thread gets the interpreter in between."""
FAULT_S = 2.0

log = get_logger()


class Feed(QObject):
    """Polls a source in a thread of its own and hands each batch to `arrived` in the thread that made this object."""

    arrived = Signal(object)
    _posted = Signal(object)

    def __init__(self, source: Source, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source = source
        self._wake = threading.Event()
        self._taken = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="feed", daemon=True)
        self._posted.connect(self._deliver)

    def start(self) -> None:
        self._thread.start()

    def open(self, run_ids: tuple[str, ...]) -> None:
        """Change what is looked at; the next look comes at once."""
        self._source.open(run_ids)
        self._wake.set()

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()
        self._taken.set()
        if self._thread.is_alive():
            self._thread.join()

    def _deliver(self, batch: Batch) -> None:
        if not self._stopping:
            self.arrived.emit(batch)
        self._taken.set()

    def _run(self) -> None:
        fault = ""
        while not self._stopping:
            try:
                batch, pause_s, fault = self._source.poll(), IDLE_S, ""
            except Exception as error:  # the border of the thread: one bad file must not end all news
                if str(error) != fault:
                    log.exception("feed.poll_failed")
                batch, pause_s = Batch(notices=(Notice(f"reading the runs failed: {error}"),)), FAULT_S
                fault = str(error)
            if not batch.complete:
                pause_s = BUSY_S
            # Cleared before the flag is read, because stop() sets the flag first: so nobody waits for ever.
            self._taken.clear()
            if self._stopping:
                return
            self._posted.emit(batch)
            self._taken.wait()
            self._wake.wait(pause_s)
            self._wake.clear()
