"""Work beside the GUI thread, for objects that signal from it."""

import threading
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal
from shiboken6 import isValid

_held: "dict[threading.Thread, Beside]" = {}


class Beside(QObject):
    """A QObject that starts threads. It is kept until they have ended, and let go in the GUI thread.

    Otherwise a thread that outlives everybody else's interest would be the one that deletes the object, while the
    GUI thread may be delivering its signals: Qt does not survive that.
    """

    _ended = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._ended.connect(self._let_go)

    def run_beside(self, work: Callable[[], object], name: str, *, daemon: bool = True) -> threading.Thread:
        thread = threading.Thread(target=self._be_beside, args=[work], name=name, daemon=daemon)
        _held[thread] = self
        thread.start()
        return thread

    def _be_beside(self, work: Callable[[], object]) -> None:
        try:
            try:
                work()
            finally:
                self._ended.emit(threading.current_thread())
        except RuntimeError:
            # When the process ends, Qt deletes what is left while threads may be at work: nobody is there to be told.
            if isValid(self):
                raise

    def _let_go(self, thread: threading.Thread) -> None:
        # It is at its end; when it is over, it refers to this object no more.
        thread.join()
        del _held[thread]
