"""All runs, newest first, and what the window knows of each beside its record."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt

from mosaic.gui.models.shown_text import tip
from mosaic.gui.models.wording import name_of, summary_of
from mosaic.spec.run_record import RunRecord, damage_of

RECORD = int(Qt.ItemDataRole.UserRole)
COLOUR = RECORD + 2
"""Place of the run's colour in the table of curve colours; None if it is not drawn."""
NOTICES = RECORD + 3
WHY_QUEUED = RECORD + 4
"""What a queued run waits for; empty of any other."""
MANY = 50
"""New runs at once, beyond which views begin anew instead of inserting each."""

Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class RunsModel(QAbstractListModel):
    """One row a run; rows keep their place, because a run id begins with the time it was made."""

    def __init__(self) -> None:
        super().__init__()
        self._records: list[RunRecord] = []
        self._by_id: dict[str, RunRecord] = {}
        self._keys: list[int] = []
        """Falling run ids as rising numbers, for bisect."""
        self._searched: dict[str, tuple[RunRecord, str]] = {}
        self._colours: dict[str, int] = {}
        self._notices: dict[str, list[str]] = {}
        self.why_queued: Callable[[RunRecord], str] = lambda _: ""

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._records)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        return self.data_of(self._records[index.row()].run_id, role)

    def data_of(self, run_id: str, role: int) -> Any:
        """What a view asks about a run; None of one that is gone, which a view may ask about while it leaves."""
        record = self._by_id.get(run_id)
        if record is None:
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return name_of(record)
            case Qt.ItemDataRole.ToolTipRole:
                state = f"{record.state}: {why}" if (why := self.why_queued(record)) else record.state
                return tip("\n".join([name_of(record), summary_of(record), run_id, state, *self.notices(run_id)]))
            case _ if role == RECORD:
                return record
            case _ if role == COLOUR:
                return self._colours.get(run_id)
            case _ if role == WHY_QUEUED:
                return self.why_queued(record)
            case _ if role == NOTICES:
                return self.notices(run_id)
            case _:
                return None

    def matching(self, text: str) -> Sequence[RunRecord]:
        """Runs whose name, algorithm, environment, state, notes or id contains a lower-case text; newest first."""
        if not text:
            return self._records
        return [record for record in self._records if text in self._searched_text(record)]

    def take(self, records: Sequence[RunRecord]) -> None:
        new: list[RunRecord] = []
        for record in records:
            if record.run_id in self._by_id:
                self._by_id[record.run_id] = record
                row = bisect_left(self._keys, _key(record.run_id))
                self._records[row] = record
                self._changed(row)
            else:
                new.append(record)
        if len(new) > MANY:
            self.beginResetModel()
            self._by_id |= {record.run_id: record for record in new}
            self._become_by_id()
            self.endResetModel()
            return
        for record in new:
            row = bisect_left(self._keys, _key(record.run_id))
            self.beginInsertRows(_NOWHERE, row, row)
            self._by_id[record.run_id] = record
            self._records.insert(row, record)
            self._keys.insert(row, _key(record.run_id))
            self.endInsertRows()

    def remove(self, run_ids: Sequence[str]) -> None:
        there = [run_id for run_id in run_ids if self._by_id.get(run_id)]
        for run_id in there:
            self._notices.pop(run_id, None)
            self._searched.pop(run_id, None)
        if len(there) > MANY:
            self.beginResetModel()
            for run_id in there:
                del self._by_id[run_id]
            self._become_by_id()
            self.endResetModel()
            return
        for run_id in there:
            row = bisect_left(self._keys, _key(run_id))
            self.beginRemoveRows(_NOWHERE, row, row)
            del self._records[row], self._keys[row], self._by_id[run_id]
            self.endRemoveRows()

    def colour(self, colours: dict[str, int]) -> None:
        """Which runs are drawn, and in which colour."""
        before, self._colours = self._colours, colours
        for run_id in {**before, **colours}:
            if before.get(run_id) != colours.get(run_id) and (row := self.row_of(run_id)) is not None:
                self._changed(row)

    def add_notice(self, run_id: str, message: str) -> bool:
        """False if it is known already."""
        known = self._notices.setdefault(run_id, [])
        if message in known:
            return False
        known.append(message)
        if (row := self.row_of(run_id)) is not None:
            self._changed(row)
        return True

    def notices(self, run_id: str) -> Sequence[str]:
        """What was told of a run, what its record says of damaged files, and what the run warned of."""
        record = self._by_id.get(run_id)
        return (*((*damage_of(record), *record.warnings) if record else ()), *self._notices.get(run_id, ()))

    def row_of(self, run_id: str) -> int | None:
        row = bisect_left(self._keys, _key(run_id))
        return row if row < len(self._keys) and self._keys[row] == _key(run_id) else None

    def get(self, run_id: str) -> RunRecord | None:
        return self._by_id.get(run_id)

    def of(self, run_ids: Iterable[str]) -> list[RunRecord]:
        """Those of these ids that there are."""
        return [self._by_id[run_id] for run_id in run_ids if run_id in self._by_id]

    def records(self) -> Sequence[RunRecord]:
        return self._records

    def _changed(self, row: int) -> None:
        self.dataChanged.emit(self.index(row), self.index(row))

    def _become_by_id(self) -> None:
        self._records = sorted(self._by_id.values(), key=lambda record: record.run_id, reverse=True)
        self._keys = [_key(record.run_id) for record in self._records]

    def _searched_text(self, record: RunRecord) -> str:
        known = self._searched.get(record.run_id)
        if known is None or known[0] is not record:
            parts = (name_of(record), summary_of(record), record.state, record.notes, record.run_id)
            known = self._searched[record.run_id] = (record, " ".join(parts).lower())
        return known[1]


def _key(run_id: str) -> int:
    return -int(run_id, 36)
