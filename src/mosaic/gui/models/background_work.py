"""Work beside the GUI thread, for objects that signal from it."""

import atexit
import threading
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, SignalInstance

_held: "dict[threading.Thread, BackgroundWork]" = {}
_telling = threading.Lock()
_over = threading.Event()


def end() -> None:
    """No thread signals any more: when the process ends, Qt deletes its objects while threads may be at work."""
    with _telling:
        _over.set()


# What is registered last is called first: before PySide, which was imported above, takes Qt down.
atexit.register(end)


class BackgroundWork(QObject):
    """A QObject that starts threads. It is kept until they have ended, and let go in the GUI thread.

    Otherwise a thread that outlives every other use would be the one that deletes the object, while the
    GUI thread may be delivering its signals: Qt does not survive that. For the same reason it has no parent, which
    could delete it, and threads signal by `tell` alone.
    """

    _ended = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._ended.connect(self._let_go)

    def run_beside(self, work: Callable[[], object], name: str, *, daemon: bool = True) -> threading.Thread:
        thread = threading.Thread(target=self._be_beside, args=[work], name=name, daemon=daemon)
        _held[thread] = self
        thread.start()
        return thread

    def tell(self, signal: SignalInstance, *values: object) -> None:
        """Emit a signal of this object from a thread; at the end of the process there is no receiver."""
        with _telling:
            if not _over.is_set():
                signal.emit(*values)

    def _be_beside(self, work: Callable[[], object]) -> None:
        try:
            work()
        finally:
            self.tell(self._ended, threading.current_thread())

    def _let_go(self, thread: threading.Thread) -> None:
        # It is at its end; when it is over, it refers to this object no more.
        thread.join()
        del _held[thread]
