"""Cyclic garbage is collected in the GUI thread alone.

Python collects in whichever thread happens to allocate, and what it finds there may be widgets: Qt does not survive
the deletion of an object in another thread than its own.
"""

import gc

from PySide6.QtCore import QObject, QTimer

INTERVAL_MS = 500


class Garbage(QObject):
    """Takes the collection over from `start` on, for the rest of the process."""

    def __init__(self) -> None:
        super().__init__()
        self._timer = QTimer(self, interval=INTERVAL_MS)
        self._timer.timeout.connect(self._collect)

    def start(self) -> None:
        gc.disable()
        gc.freeze()  # modules and the window stay: they need not be looked through again and again
        self._timer.start()

    def stop(self) -> None:
        """Nothing is collected any more: threads may outlive the window."""
        self._timer.stop()

    def _collect(self) -> None:
        """The oldest generation that is due, as Python itself would."""
        counts, thresholds = gc.get_count(), gc.get_threshold()
        due = [generation for generation in range(3) if counts[generation] > thresholds[generation]]
        if due:
            gc.collect(due[-1])
