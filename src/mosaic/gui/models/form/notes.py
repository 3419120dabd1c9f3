"""Notes on dry runs: what each dry run said, whole and with its time."""

import time
from dataclasses import dataclass
from typing import Literal, TypeAlias

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt

from mosaic.config import JsonObject

NOTE = int(Qt.ItemDataRole.UserRole)
MOST = 200
"""Notes that are kept; the oldest make room."""
Outcome: TypeAlias = Literal["running", "ok", "refused", "failed"]
Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


@dataclass(eq=False)
class Note:
    """One dry run."""

    title: str
    document: JsonObject
    """What was tried, without secrets."""
    begun_at: float
    """Unix seconds."""
    outcome: Outcome = "running"
    output: str = ""
    took_s: float = 0.0
    is_stale: bool = False
    """The form shows something else by now."""


class Notes(QAbstractListModel):
    """Newest first."""

    def __init__(self) -> None:
        super().__init__()
        self._notes: list[Note] = []

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._notes)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        note = self._notes[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return note.title
        return note if role == NOTE else None

    def begin(self, title: str, document: JsonObject) -> Note:
        note = Note(title, document, time.time())
        self.beginInsertRows(_NOWHERE, 0, 0)
        self._notes.insert(0, note)
        self.endInsertRows()
        if len(self._notes) > MOST:
            self.beginRemoveRows(_NOWHERE, MOST, len(self._notes) - 1)
            del self._notes[MOST:]
            self.endRemoveRows()
        return note

    def end(self, note: Note, outcome: Outcome, output: str) -> None:
        note.outcome, note.output, note.took_s = outcome, output, time.time() - note.begun_at
        self._changed(note)

    def compare(self, document: JsonObject | None) -> None:
        """Mark each note by whether the form still says what was tried."""
        for note in self._notes:
            if note.is_stale != (note.document != document):
                note.is_stale = not note.is_stale
                self._changed(note)

    def _changed(self, note: Note) -> None:
        if note in self._notes:
            index = self.index(self._notes.index(note))
            self.dataChanged.emit(index, index)
