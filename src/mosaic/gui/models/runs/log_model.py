"""The log of one run: its lines in order of time, by source, level and text. A million lines stop nothing.

What is to be shown is found in slices between other events; a short log is done in the first one.
"""

import time
from array import array
from collections.abc import Iterable, Mapping, Sequence

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt, QTimer, Signal

from mosaic.gui.models.daemon.news import Level, LogLine, LogSource

LINE = int(Qt.ItemDataRole.UserRole)
SOURCES: tuple[LogSource, ...] = ("stdout", "stderr", "events")
SLICE_S = 0.012
STEP = 2000
"""Lines between two looks at the clock."""
SEVERITY: Mapping[Level, int] = {"": 0, "INFO": 0, "OK": 0, "WARN": 1, "ERR": 2}

Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class LogModel(QAbstractListModel):
    """All lines are kept; what is shown of them is a list of places."""

    searching_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[LogLine] = []
        self._shown = array("I")
        self._next = 0
        """Lines before this one have been looked at."""
        self._sources = frozenset(SOURCES)
        self._text = ""
        self._severity = 0
        self.longest = 0
        """Characters of the longest line so far."""
        self._more = QTimer(self, singleShot=True)
        self._more.timeout.connect(self._search)

    @property
    def sources(self) -> frozenset[LogSource]:
        return self._sources

    @property
    def total(self) -> int:
        """Lines, shown or not."""
        return len(self._lines)

    @property
    def searching(self) -> bool:
        """Whether there are lines that were not looked at yet."""
        return self._next < len(self._lines)

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._shown)

    def line(self, row: int) -> LogLine:
        return self._lines[self._shown[row]]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        line = self.line(index.row())
        if role == Qt.ItemDataRole.DisplayRole:
            return line.text
        return line if role == LINE else None

    def reset(self, lines: Iterable[LogLine]) -> None:
        """Another run."""
        self._lines = list(lines)
        self.longest = 0
        self._start_over()

    def append(self, lines: Sequence[LogLine]) -> None:
        self._lines += lines
        if not self._more.isActive():
            self._search()

    def filter(
        self, *, sources: Iterable[LogSource] | None = None, text: str | None = None, level: Level | None = None
    ) -> None:
        """Only lines of these sources that contain the text and are at least this severe."""
        self._sources = self._sources if sources is None else frozenset(sources)
        self._text = self._text if text is None else text.lower()
        self._severity = self._severity if level is None else SEVERITY[level]
        self._start_over()

    def _start_over(self) -> None:
        self.beginResetModel()
        self._shown = array("I")
        self._next = 0
        self.endResetModel()
        self._search()

    def _search(self) -> None:
        """Go on for one slice."""
        deadline = time.monotonic() + SLICE_S
        found = array("I")
        while self._next < len(self._lines) and time.monotonic() < deadline:
            first, self._next = self._next, min(self._next + STEP, len(self._lines))
            lines = self._lines[first : self._next]
            self.longest = max(self.longest, max(len(line.text) for line in lines))
            found.extend(self._fitting(lines, first))
        if found:
            self.beginInsertRows(_NOWHERE, len(self._shown), len(self._shown) + len(found) - 1)
            self._shown.extend(found)
            self.endInsertRows()
        if self.searching:
            self._more.start()
        self.searching_changed.emit()

    def _fitting(self, lines: Sequence[LogLine], first: int) -> Iterable[int]:
        sources, text, severity = self._sources, self._text, self._severity
        return (
            place
            for place, line in enumerate(lines, start=first)
            if line.source in sources
            and (not severity or SEVERITY[line.level] >= severity)
            and (not text or text in line.text.lower())
        )
