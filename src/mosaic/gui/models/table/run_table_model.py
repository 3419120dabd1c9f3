"""The table of runs as it is shown: filtered, sorted and grouped; ten thousand runs stop nothing.

The values lie in columns (`mosaic.run_table.table_rows`); a filter or an order is one operation on a column, and only
the cells that are seen are put into words.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, QTimer, Signal

from mosaic.config import JsonValue
from mosaic.gui.models.shown_text import tip
from mosaic.gui.models.wording import name_of
from mosaic.run_table import filter_expression
from mosaic.run_table.arrangement import DEFAULT, Arrangement
from mosaic.run_table.filter_expression import Everything, Expression, FilterError
from mosaic.run_table.row_groups import GroupCell, RowGroup, cell_of, grouped
from mosaic.run_table.run_columns import FACTS, kind_of, metric_of, shown_value, source_of, title_of_column
from mosaic.run_table.table_rows import Mask, Rows, TableRows, differing, pinned_first
from mosaic.spec.run_record import RunRecord

RECORD = int(Qt.ItemDataRole.UserRole)
GROUP = RECORD + 10
"""The RowGroup of a heading; None for a run."""
COLUMN = RECORD + 12
"""Whole name of the column."""
KIND, SESSIONS = "kind", frozenset({"play", "policy_eval"})
"""Runs of these kinds are shown where the filter names their kind: means of trainings are of trainings alone."""
CALM_MS = 700
"""Rows change places no more often, so that the table can be read while returns change."""
SOON_MS = 40
NAMES_AT_ONCE = 3
"""Settings that are compared over all runs between two events of the window."""
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter

Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class RunTableModel(QAbstractTableModel):
    """A row is a run or the heading of a group."""

    about_to_change = Signal()
    changed = Signal()
    """The rows are others, or in another order; selections are lost."""
    refused = Signal(object)
    """A FilterError; None once the filter is understood."""
    wanted_changed = Signal()
    """Columns, filter, order or groups need other values than before."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = TableRows()
        self.arrangement = Arrangement()
        self._expression: Expression = Everything()
        self._columns: tuple[str, ...] = DEFAULT
        """Those that are shown: with `only_differing` not all that were chosen."""
        self._shown: list[int] = []
        """Of each line its row; of a heading the group's place, from -1 downwards."""
        self._groups: list[RowGroup] = []
        self._group_cells: dict[tuple[str, str], GroupCell] = {}
        self._collapsed: set[str] = set()
        self._lines: dict[int, int] | None = None
        self._fitting = 0
        self._differing: list[str] = []
        """Settings that are not the same in all runs that fit, as far as they were looked at."""
        self._unlooked: list[str] = []
        self._looked: list[str] = []
        self._compared: list[Mapping[str, JsonValue] | None] = []
        self._comparing = QTimer(self)
        self._comparing.timeout.connect(self._compare_some)
        self._later = QTimer(self, singleShot=True)
        self._later.timeout.connect(self.arrange)

    # What Qt asks.

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self._columns):
            return None
        name = self._columns[section]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                wanted = self.arrangement
                mark = ("  ↓" if wanted.downwards else "  ↑") if wanted.sort == name else ""
                return title_of_column(name) + mark
            case Qt.ItemDataRole.ToolTipRole:
                return tip(_about(name))
            case Qt.ItemDataRole.TextAlignmentRole:
                return _side(name)
            case _:
                return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self._shown) or index.column() >= len(self._columns):
            return None
        place, name = self._shown[index.row()], self._columns[index.column()]
        if role == COLUMN:
            return name
        if place < 0:
            return self._heading(self._groups[-place - 1], name, index.column(), role)
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._text(place, name)
            case Qt.ItemDataRole.TextAlignmentRole:
                return _side(name)
            case Qt.ItemDataRole.ToolTipRole:
                return tip(self._text(place, name) or "")
            case _ if role == RECORD:
                return self.rows.records[place]
            case _:
                return None

    # What the view asks.

    @property
    def fitting(self) -> int:
        """Runs that fit the filter, seen or in a collapsed group."""
        return self._fitting

    @property
    def columns(self) -> Sequence[str]:
        return self._columns

    @property
    def group_count(self) -> int:
        return len(self._groups)

    def ids_at(self, lines: Iterable[int]) -> list[str]:
        """The runs of some lines; all runs of a heading."""
        found: dict[str, None] = {}
        for line in lines:
            place = self._shown[line]
            rows: list[int] = [place] if place >= 0 else self._groups[-place - 1].rows.tolist()
            found.update(dict.fromkeys(self.rows.records[row].run_id for row in rows))
        return list(found)

    def line_of(self, run_id: str) -> int | None:
        row = self.rows.row_of(run_id)
        return None if row is None else self._line_by_row().get(row)

    def lines_of(self, run_ids: Collection[str]) -> list[int]:
        """Sorted; of those that are shown."""
        lines = self._line_by_row()
        rows = [row for run_id in run_ids if (row := self.rows.row_of(run_id)) is not None]
        return sorted(line for row in rows if (line := lines.get(row)) is not None)

    def group_at(self, line: int) -> RowGroup | None:
        place = self._shown[line]
        return self._groups[-place - 1] if place < 0 else None

    def is_collapsed(self, group: RowGroup) -> bool:
        return group.key in self._collapsed

    # What changes it.

    def take(self, records: Sequence[RunRecord], removed: Sequence[str] = ()) -> None:
        if removed:
            self.rows.remove(removed)
            self.arrange()
        before = len(self.rows)
        changed = self.rows.take(records)
        if len(self.rows) != before:
            self._arrange_later(SOON_MS)
        elif changed:
            self._show_changed([record.run_id for record in records], changed)

    def values_came(self, run_ids: Sequence[str], names: Collection[str]) -> None:
        """Settings or metrics of these runs are known now."""
        self._show_changed(run_ids, set(names))

    def show_as(self, arrangement: Arrangement) -> None:
        """Another filter, order, grouping or other columns, at once."""
        before, self.arrangement = self.arrangement, arrangement
        if before.filter != arrangement.filter or isinstance(self._expression, Everything):
            self._understand()
        self.arrange()
        self._compare_soon()
        self.wanted_changed.emit()

    def understand_again(self) -> None:
        """Names of settings came in, which the filter may mean."""
        if self._understand():
            self.arrange()
        self._compare_soon()

    def collapse(self, line: int, *, collapsed: bool) -> None:
        group = self.group_at(line)
        if group is not None and self.is_collapsed(group) != collapsed:
            self._collapsed ^= {group.key}
            self.arrange()

    def collapse_all(self, *, collapsed: bool) -> None:
        self._collapsed = {group.key for group in self._groups} if collapsed else set()
        self.arrange()

    def arrange(self) -> None:
        """Put everything in its place now."""
        self._later.stop()
        shown, groups = self._arranged()
        columns = self._wanted_columns()
        if shown == self._shown and columns == self._columns and not groups and not self._groups:
            self._say_changed()
            return
        self.about_to_change.emit()
        self.beginResetModel()
        self._shown, self._groups, self._columns = shown, groups, columns
        self._group_cells.clear()
        self._lines = None
        self.endResetModel()
        self.changed.emit()

    def needed_columns(self) -> set[str]:
        """Whole names of all columns that are shown, filtered, sorted or grouped by."""
        wanted = self.arrangement
        return {*wanted.columns, *self._expression.columns(), wanted.sort, wanted.group} - {""}

    # Within.

    def _arranged(self) -> tuple[list[int], list[RowGroup]]:
        wanted = self.arrangement
        rows = pinned_first(self.rows, self.rows.in_order(wanted.sort, downwards=wanted.downwards, among=self._fits()))
        self._fitting = len(rows)
        if not wanted.group:
            return rows.tolist(), []
        groups = grouped(self.rows, rows, [wanted.group])
        shown: list[int] = []
        for place, group in enumerate(groups):
            shown.append(-place - 1)
            if not self._collapsed or group.key not in self._collapsed:
                shown += group.rows.tolist()
        return shown, groups

    def _fits(self) -> Mask:
        mask = self._expression.fits(self.rows)
        if KIND in self._expression.columns():
            return mask
        return mask & self.rows.column(KIND).where(lambda value: value not in SESSIONS)

    def _understand(self) -> bool:
        """Whether the filter means something else than before; one that is none leaves the rows as they are."""
        try:
            made = filter_expression.parse(self.arrangement.filter, self.rows.setting_names)
        except FilterError as error:
            self.refused.emit(error)
            return False
        self.refused.emit(None)
        is_other = made != self._expression
        self._expression = made
        return is_other

    def _wanted_columns(self) -> tuple[str, ...]:
        chosen = self.arrangement.columns
        if not self.arrangement.only_differing:
            return chosen
        rows = self.rows.in_order("", downwards=False, among=self._fits())
        more = (name for name in self._differing if name not in chosen)
        return tuple(name for name in (*chosen, *more) if name == "label" or self._differs(name, rows))

    def _compare_soon(self) -> None:
        """Look which settings differ, a few at a time: all of ten thousand runs would be felt."""
        self._unlooked, self._looked = [], []
        if self.arrangement.only_differing:
            settings = self.rows.all_settings()
            rows: list[int] = self.rows.in_order("", downwards=False, among=self._fits()).tolist()
            self._compared = [settings[row] for row in rows]
            self._unlooked = list(self.rows.setting_names)[::-1]
        if self._unlooked:
            self._comparing.start()

    def _compare_some(self) -> None:
        names = [self._unlooked.pop() for _ in range(min(NAMES_AT_ONCE, len(self._unlooked)))]
        self._looked += differing(self._compared, names)
        if not self._unlooked:
            self._comparing.stop()
            self._compared = []
            if self._looked != self._differing:
                self._differing = self._looked
                self.arrange()

    def _differs(self, name: str, rows: Rows) -> bool:
        values = self.rows.column(name).values
        found: list[int] = rows.tolist()
        return any(values[row] != values[found[0]] for row in found)

    def _show_changed(self, run_ids: Sequence[str], names: set[str]) -> None:
        """Cells at once; places, where the order, the filter or the groups may be others now, in a moment."""
        wanted = self.arrangement
        if wanted.group:
            self._group_cells.clear()
        if names & {wanted.sort, wanted.group, "tags", *self._expression.columns()}:
            self._arrange_later(CALM_MS)
        if not self._columns or not self._shown or not names & set(self._columns):
            return
        lines = self.lines_of(run_ids) if len(run_ids) <= len(self._shown) // 4 + 8 else [0, len(self._shown) - 1]
        if lines:
            last = len(self._columns) - 1
            first_line = 0 if wanted.group else lines[0]
            self.dataChanged.emit(self.index(first_line, 0), self.index(lines[-1], last))

    def _say_changed(self) -> None:
        if self._shown and self._columns:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._shown) - 1, len(self._columns) - 1))

    def _arrange_later(self, after_ms: int) -> None:
        if not self._later.isActive() or self._later.remainingTime() > after_ms:
            self._later.start(after_ms)

    def _line_by_row(self) -> dict[int, int]:
        if self._lines is None:
            self._lines = {row: line for line, row in enumerate(self._shown) if row >= 0}
        return self._lines

    def _text(self, row: int, name: str) -> str:
        if name == "label":
            return name_of(self.rows.records[row])
        return shown_value(name, self.rows.value(row, name))

    def _heading(self, group: RowGroup, name: str, place: int, role: int) -> object:
        if role == GROUP:
            return group
        if place == 0:
            runs = f"{len(group.rows):,} run{'' if len(group.rows) == 1 else 's'}"
            return f"{group.title}   {runs}" if role == Qt.ItemDataRole.DisplayRole else None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _side(name)
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return None
        cell = self._group_cells.get((group.key, name))
        if cell is None:
            cell = self._group_cells[group.key, name] = cell_of(self.rows, group, name)
        return tip(cell.tip) if role == Qt.ItemDataRole.ToolTipRole else cell.text


def _side(name: str) -> Qt.AlignmentFlag:
    return LEFT if kind_of(name) in ("text", "words") else RIGHT


def _about(name: str) -> str:
    match source_of(name):
        case "fact":
            return f"{FACTS[name].title}: {name} in a filter"
        case "metric":
            tag, wanted = metric_of(name)
            said = {"auc": "area under the curve, divided by its steps", "last": "newest value"}
            return f"{tag}: {said.get(wanted, 'the ' + ('highest' if wanted == 'best' else wanted) + ' value')}\n{name}"
        case "setting":
            return f"setting {name}"
