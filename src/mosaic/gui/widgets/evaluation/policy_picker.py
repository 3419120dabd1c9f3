"""A table of policies to choose from, with a search field: one is evaluated, several are compared."""

from collections.abc import Sequence

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QSortFilterProxyModel, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeView, QWidget

from mosaic.gui.models.evaluation.policies_model import COLUMNS, POLICY, SORT, PoliciesModel
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import column, search_field
from mosaic.rpc.policy_info import PolicyInfo

NEWEST = COLUMNS.index("Saved")
WIDTHS = {"Environment": 150, "Algorithm": 150, "Steps": 88, "Return": 76, "Saved": 132}


class PolicyPicker(QWidget):
    """What is chosen stays chosen while the list changes, as long as it is listed."""

    chosen_changed = Signal(object)
    """The chosen PolicyInfos, in the order of the list."""

    def __init__(self, model: PoliciesModel, theme: Theme) -> None:
        super().__init__()
        self._sorted = QSortFilterProxyModel(self)
        self._sorted.setSourceModel(model)
        self._sorted.setSortRole(SORT)
        self._sorted.setFilterKeyColumn(-1)
        self._sorted.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.search = search_field(theme, "Search policies…", self._sorted.setFilterFixedString)
        self.table = QTreeView()
        self.table.setModel(self._sorted)
        self.table.setRootIsDecorated(False)
        self.table.setUniformRowHeights(True)
        self.table.setAllColumnsShowFocus(True)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setSortingEnabled(True)
        self.table.sortByColumn(NEWEST, Qt.SortOrder.DescendingOrder)
        self.table.setAccessibleName("Policies")
        header = self.table.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for place, name in enumerate(COLUMNS[1:], start=1):
            header.resizeSection(place, WIDTHS[name])
        column(self, self.search, (self.table, 1), spacing=8)
        self._paths: list[str] = []
        self._is_resetting = False
        model.modelAboutToBeReset.connect(self._before)
        model.modelReset.connect(self._after)
        self.table.selectionModel().selectionChanged.connect(self._tell)

    @property
    def chosen(self) -> list[PolicyInfo]:
        rows = sorted(self.table.selectionModel().selectedRows(), key=lambda index: index.row())
        return [index.data(POLICY) for index in rows]

    def choose(self, paths: Sequence[str]) -> None:
        """Select these, where they are listed; the first one is scrolled to."""
        model = self.table.selectionModel()
        model.clearSelection()
        flags = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
        for row in reversed(range(self._sorted.rowCount())):
            index = self._sorted.index(row, 0)
            if index.data(POLICY).path in paths:
                model.select(index, flags)
                model.setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)
                self.table.scrollTo(index)

    def choose_run(self, run_id: str) -> None:
        """The policy of this run."""
        for row in range(self._sorted.rowCount()):
            policy: PolicyInfo = self._sorted.index(row, 0, QModelIndex()).data(POLICY)
            if policy.run_id == run_id:
                self.choose([policy.path])
                return

    def _before(self) -> None:
        self._paths = [policy.path for policy in self.chosen]
        self._is_resetting = True

    def _after(self) -> None:
        self._is_resetting = False
        self.choose(self._paths)
        self._tell()

    def _tell(self) -> None:
        if not self._is_resetting:
            self.chosen_changed.emit(self.chosen)
