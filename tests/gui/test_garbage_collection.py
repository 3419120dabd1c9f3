"""Cyclic garbage of the window dies in the GUI thread, whichever thread allocates."""

import gc
import threading
import weakref

from PySide6.QtWidgets import QWidget

from .conftest import Show

WIDGETS = 300


class Knot(QWidget):
    """Refers to itself: only the collector can free it."""

    def __init__(self) -> None:
        super().__init__()
        self.me = self


def allocate(stopping: threading.Event) -> None:
    """What makes Python collect, in a thread."""
    kept: list[list[object]] = []
    while not stopping.is_set():
        kept = [[] for _ in range(5000)]
    del kept


def test_widgets_in_cycles_die_in_the_gui_thread(show: Show) -> None:
    shown = show()
    died: list[threading.Thread] = []
    stopping = threading.Event()
    threads = [threading.Thread(target=allocate, args=[stopping]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(WIDGETS):
        weakref.finalize(Knot(), lambda: died.append(threading.current_thread()))
        shown.application.processEvents()
    shown.until(lambda: len(died) == WIDGETS, "the garbage to be collected")
    stopping.set()
    for thread in threads:
        thread.join()
    assert set(died) == {threading.main_thread()}
    assert not gc.isenabled()
