"""Waiting in the event loop of Qt, asleep between events."""

import time
from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QEventLoop, QTimer

BEAT_MS = 20
TIMEOUT_S = 300.0


def run_until(holds: Callable[[], object], what: Callable[[], str] | str = "", timeout_s: float = TIMEOUT_S) -> None:
    """Handle events until something holds; it is asked for after each event, and fifty times a second."""
    beat = QTimer(interval=BEAT_MS)
    beat.start()
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end, f"waited {timeout_s:.0f} s for {what() if callable(what) else what or holds}"
        # Without a limit of time, with which Qt does not wait but spins; the beat ends the wait.
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
    beat.stop()
