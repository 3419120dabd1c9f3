"""The list of runs as it is shown: filtered, sorted and grouped. Ten thousand runs stop nothing."""

from collections.abc import Iterable, Iterator, Sequence

from PySide6.QtCore import QAbstractListModel, QModelIndex, Qt, QTimer, Signal

from mosaic.gui.models.runs.run_order import SESSIONS, TRAINING, Arranged, Group, Grouping, RunOrder, Sort
from mosaic.gui.models.runs.runs_model import RECORD, Index, RunsModel
from mosaic.gui.models.shown_text import tip
from mosaic.spec.run_record import PINNED, RunRecord, is_pinned
from mosaic.spec.states import LIVE

GROUP = RECORD + 10
"""The Group of a row that is a heading; None for a run."""
IS_MEMBER = RECORD + 11
"""Whether a row stands under a heading."""
SOON_MS = 30
"""Runs that come within this time are put in their places at once."""
CALM_MS = 500
"""Runs change places no more often, so that the list can be read while returns change."""
MOST_STEPS = 20
"""Insertions and removals one by one; where there are more, the view begins anew."""
MOST_KEPT = 500
"""Selected rows that are moved one by one; of a larger selection the view selects all anew."""

_NOWHERE = QModelIndex()


class ArrangedRuns(QAbstractListModel):
    """A row is a run or the heading of a group."""

    about_to_change = Signal()
    changed = Signal()
    """The rows are others, or in another order; selections may be lost."""

    def __init__(self, runs: RunsModel) -> None:
        super().__init__()
        self._runs = runs
        self._order = RunOrder()
        self._rows: list[str] = []
        self._places: dict[str, int] = {}
        self._groups: dict[str, Group] = {}
        self._text = ""
        self.sorting: Sort = "newest"
        self.grouping: Grouping = "none"
        self._collapsed: set[str] = {SESSIONS}
        self._is_held = False
        self._pinned: set[str] = set()
        self._later = QTimer(self, singleShot=True)
        self._later.timeout.connect(self.arrange)
        runs.rowsInserted.connect(self._came)
        # At once: of a run that is gone there is nothing to show.
        runs.rowsRemoved.connect(self._went)
        runs.modelReset.connect(self._went)
        runs.dataChanged.connect(self._moved_on)
        self.arrange()

    @property
    def run_count(self) -> int:
        """Runs that fit the filter, seen or in a collapsed group."""
        hidden = sum(len(group.run_ids) for group in self._groups.values() if group.is_collapsed)
        return len(self._rows) - len(self._groups) + hidden

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        key = self._rows[index.row()]
        group = self._groups.get(key)
        if role == GROUP:
            return group
        if group is not None:
            if role == Qt.ItemDataRole.ToolTipRole:
                return tip(group.title)
            return group.title if role == Qt.ItemDataRole.DisplayRole else None
        if role == IS_MEMBER:
            record = self._runs.get(key)
            return record is not None and self._is_member(record)
        return self._runs.data_of(key, role)

    def _is_member(self, record: RunRecord) -> bool:
        if record.kind != TRAINING:
            return True
        return self.grouping != "none" and (self.grouping != "seeds" or bool(record.group))

    def row_of(self, key: str) -> int | None:
        """Of a run or a group."""
        return self._places.get(key)

    def first_run(self) -> int:
        """The first run that is training, else the first row but for headings; the first one if all are collapsed."""
        for place, row in enumerate(self._rows):
            record = self._runs.get(row)
            if record is not None and record.kind == TRAINING and record.state in LIVE:
                return place
        return next((place for place, row in enumerate(self._rows) if row not in self._groups), 0)

    def key_at(self, row: int) -> str:
        return self._rows[row]

    def runs_of(self, key: str) -> Sequence[str]:
        """The run itself, or all runs of a group."""
        return self._groups[key].run_ids if key in self._groups else (key,)

    def heading_of(self, row: int) -> int | None:
        """The row of the heading that a row stands under."""
        return next((place for place in range(row, -1, -1) if self._rows[place] in self._groups), None)

    def hold(self, is_held: bool) -> None:
        """While the pointer is over the list no run changes its place by itself; what came meanwhile is listed."""
        if is_held != self._is_held:
            self._is_held = is_held
            if not is_held:
                self.arrange()

    def filter(self, text: str) -> None:
        self._text = text.lower()
        self.arrange()

    def show_by(self, *, sort: Sort | None = None, grouping: Grouping | None = None) -> None:
        self.sorting, self.grouping = sort or self.sorting, grouping or self.grouping
        self._arrange(is_held=False)

    def collapse(self, row: int, *, collapsed: bool) -> None:
        group = self._groups.get(self._rows[row])
        if group is not None and group.is_collapsed != collapsed:
            self._collapsed ^= {group.key}
            self.arrange()

    def collapse_all(self, *, collapsed: bool) -> None:
        self._collapsed = set(self._groups) if collapsed else set()
        self.arrange()

    def reveal(self, keys: Sequence[str]) -> None:
        """Open the groups in which these runs are hidden."""
        hiding = {
            name
            for name, group in self._groups.items()
            if group.is_collapsed and not set(keys).isdisjoint(group.run_ids)
        }
        if hiding:
            self._collapsed -= hiding
            self._arrange(is_held=False)

    def settle(self) -> None:
        """Put what has just come in its place now rather than soon."""
        if self._later.isActive():
            self.arrange()

    def arrange(self) -> None:
        """Put everything in its place now."""
        self._arrange(is_held=self._is_held)

    def _arrange(self, *, is_held: bool) -> None:
        self._later.stop()
        fitting = self._runs.matching(self._text)
        self._pinned = {record.run_id for record in fitting if PINNED in record.tags}
        arranged = self._order.arrange(fitting, sort=self.sorting, grouping=self.grouping, collapsed=self._collapsed)
        if is_held:
            arranged = Arranged(self._in_old_places(arranged), arranged.groups)
        if arranged.rows == self._rows:
            self._show_groups(arranged.groups)
            return
        self.about_to_change.emit()
        self._apply(arranged)
        self.changed.emit()

    def _in_old_places(self, arranged: Arranged) -> list[str]:
        """Rows that are there keep their order; of groups only where no run has changed its heading."""
        wanted, there = set(arranged.rows), set(self._rows)
        kept = [row for row in self._rows if row in wanted]
        if arranged.groups and wanted != there:
            return arranged.rows
        if any(
            self._groups.get(key) is None or set(self._groups[key].run_ids) != set(group.run_ids)
            for key, group in arranged.groups.items()
        ):
            return arranged.rows
        for place, row in enumerate(arranged.rows):
            if row not in there:
                kept.insert(min(place, len(kept)), row)
        return kept

    def _went(self) -> None:
        self._order.forget(self._runs.get)
        self.arrange()

    def _came(self) -> None:
        if not self._later.isActive() or self._later.remainingTime() > SOON_MS:
            self._later.start(SOON_MS)

    def _moved_on(self, first: QModelIndex, last: QModelIndex) -> None:
        was_pinned = False
        for row in range(first.row(), last.row() + 1):
            record = self._runs.records()[row]
            place = self._places.get(record.run_id)
            if place is not None:
                self.dataChanged.emit(self.index(place), self.index(place))
                was_pinned |= is_pinned(record) != (record.run_id in self._pinned)
        if was_pinned:
            # The user has just asked for it, perhaps by the menu at the pointer.
            self._arrange(is_held=False)
        keeps_places = self.sorting == "newest" and self.grouping == "none" and not self._text
        if not keeps_places and not self._later.isActive():
            self._later.start(CALM_MS)

    def _show_groups(self, groups: dict[str, Group]) -> None:
        """The same rows, other numbers in the headings."""
        before, self._groups = self._groups, groups
        for key, group in groups.items():
            if before.get(key) is not group and before.get(key) != group:
                index = self.index(self._places[key])
                self.dataChanged.emit(index, index)

    def _apply(self, arranged: Arranged) -> None:
        there, wanted = set(self._rows), set(arranged.rows)
        in_order = [row for row in self._rows if row in wanted] == [row for row in arranged.rows if row in there]
        gone = list(stretches(place for place, row in enumerate(self._rows) if row not in wanted))
        come = list(stretches(place for place, row in enumerate(arranged.rows) if row not in there))
        if in_order and len(gone) + len(come) <= MOST_STEPS:
            self._step_by_step(arranged, gone, come)
        elif there == wanted and len(kept := self.persistentIndexList()) <= MOST_KEPT:
            self._move(arranged, kept)
        else:
            self.beginResetModel()
            self._become(arranged.rows, arranged.groups)
            self.endResetModel()

    def _step_by_step(self, arranged: Arranged, gone: list[tuple[int, int]], come: list[tuple[int, int]]) -> None:
        rows, groups = list(self._rows), {**self._groups, **arranged.groups}
        for first, last in reversed(gone):
            self.beginRemoveRows(_NOWHERE, first, last)
            del rows[first : last + 1]
            self._become(rows, groups)
            self.endRemoveRows()
        for first, last in come:
            self.beginInsertRows(_NOWHERE, first, last)
            rows[first:first] = arranged.rows[first : last + 1]
            self._become(rows, groups)
            self.endInsertRows()
        self._groups = arranged.groups
        for key in arranged.groups:
            index = self.index(self._places[key])
            self.dataChanged.emit(index, index)

    def _move(self, arranged: Arranged, before: list[QModelIndex]) -> None:
        self.layoutAboutToBeChanged.emit()
        keys = [self._rows[index.row()] for index in before]
        self._become(arranged.rows, arranged.groups)
        self.changePersistentIndexList(before, [self.index(self._places[key]) for key in keys])
        self.layoutChanged.emit()

    def _become(self, rows: list[str], groups: dict[str, Group]) -> None:
        self._rows, self._groups = list(rows), groups
        self._places = {row: place for place, row in enumerate(self._rows)}


def stretches(places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of neighbours."""
    first = last = -2
    for place in places:
        if place == last + 1:
            last = place
            continue
        if first >= 0:
            yield first, last
        first = last = place
    if first >= 0:
        yield first, last
