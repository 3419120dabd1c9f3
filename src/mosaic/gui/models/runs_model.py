"""The list of runs, newest first, and its filter."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QSortFilterProxyModel, Qt

from mosaic.gui.models.wording import name_of, summary_of
from mosaic.spec.run_record import RunRecord

RECORD = int(Qt.ItemDataRole.UserRole)
SEARCHED = RECORD + 1
COLOUR = RECORD + 2
"""Place of the run's colour in the table of curve colours; None if it is not drawn."""
NOTICES = RECORD + 3

Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class RunsModel(QAbstractListModel):
    """One row a run; rows keep their place, because a run id begins with the time it was made."""

    def __init__(self) -> None:
        super().__init__()
        self._records: list[RunRecord] = []
        self._keys: list[int] = []
        """Falling run ids as rising numbers, for bisect."""
        self._colours: dict[str, int] = {}
        self._notices: dict[str, list[str]] = {}

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._records)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        record = self._records[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return name_of(record)
            case Qt.ItemDataRole.ToolTipRole:
                return "\n".join([name_of(record), record.run_id, record.state, *self.notices(record.run_id)])
            case _ if role == RECORD:
                return record
            case _ if role == SEARCHED:
                return f"{name_of(record)} {summary_of(record)} {record.state} {record.run_id}"
            case _ if role == COLOUR:
                return self._colours.get(record.run_id)
            case _ if role == NOTICES:
                return self.notices(record.run_id)
            case _:
                return None

    def take(self, records: Iterable[RunRecord]) -> None:
        for record in records:
            row = bisect_left(self._keys, _key(record.run_id))
            if row < len(self._records) and self._records[row].run_id == record.run_id:
                self._records[row] = record
                self._changed(row)
                continue
            self.beginInsertRows(_NOWHERE, row, row)
            self._records.insert(row, record)
            self._keys.insert(row, _key(record.run_id))
            self.endInsertRows()

    def remove(self, run_ids: Iterable[str]) -> None:
        for run_id in run_ids:
            if (row := self.row_of(run_id)) is not None:
                self.beginRemoveRows(_NOWHERE, row, row)
                del self._records[row], self._keys[row]
                self.endRemoveRows()
            self._notices.pop(run_id, None)

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
        return self._notices.get(run_id, ())

    def row_of(self, run_id: str) -> int | None:
        row = bisect_left(self._keys, _key(run_id))
        return row if row < len(self._keys) and self._keys[row] == _key(run_id) else None

    def get(self, run_id: str) -> RunRecord | None:
        row = self.row_of(run_id)
        return None if row is None else self._records[row]

    def records(self) -> Sequence[RunRecord]:
        return self._records

    def _changed(self, row: int) -> None:
        self.dataChanged.emit(self.index(row), self.index(row))


class FilteredRuns(QSortFilterProxyModel):
    """The runs whose name, algorithm, environment, state or id contains a text."""

    def __init__(self, runs: RunsModel) -> None:
        super().__init__()
        self.setSourceModel(runs)
        self.setFilterRole(SEARCHED)
        self.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)


def _key(run_id: str) -> int:
    return -int(run_id, 36)
