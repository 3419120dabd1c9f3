"""The log of one run: its lines in order of time, by source and by text."""

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt

from mosaic.gui.models.batch import LogLine, LogSource

LINE = int(Qt.ItemDataRole.UserRole)
SOURCES: tuple[LogSource, ...] = ("stdout", "stderr", "events", "episodes")
QUIET: frozenset[LogSource] = frozenset({"episodes"})
"""Sources that are not shown until they are asked for."""

Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class LogModel(QAbstractListModel):
    """All lines are kept; what is shown of them is a list of places."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[LogLine] = []
        self._shown: list[int] = []
        self._sources = frozenset(SOURCES) - QUIET
        self._text = ""
        self.longest = 0
        """Characters of the longest line so far."""

    @property
    def sources(self) -> frozenset[LogSource]:
        return self._sources

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._shown)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        line = self._lines[self._shown[index.row()]]
        if role == Qt.ItemDataRole.DisplayRole:
            return line.text
        return line if role == LINE else None

    def reset(self, lines: Iterable[LogLine]) -> None:
        """Another run."""
        self.beginResetModel()
        self._lines = list(lines)
        self._measure(self._lines)
        self._shown = [place for place, line in enumerate(self._lines) if self._fits(line)]
        self.endResetModel()

    def append(self, lines: Sequence[LogLine]) -> None:
        first = len(self._lines)
        fitting = [first + place for place, line in enumerate(lines) if self._fits(line)]
        self._lines += lines
        self._measure(lines)
        if fitting:
            self.beginInsertRows(_NOWHERE, len(self._shown), len(self._shown) + len(fitting) - 1)
            self._shown += fitting
            self.endInsertRows()

    def filter(self, *, sources: Iterable[LogSource] | None = None, text: str | None = None) -> None:
        self._sources = self._sources if sources is None else frozenset(sources)
        self._text = self._text if text is None else text.lower()
        self.reset(self._lines)

    def _measure(self, lines: Sequence[LogLine]) -> None:
        self.longest = max(self.longest, *(len(line.text) for line in lines), 0)

    def _fits(self, line: LogLine) -> bool:
        return line.source in self._sources and (not self._text or self._text in line.text.lower())
