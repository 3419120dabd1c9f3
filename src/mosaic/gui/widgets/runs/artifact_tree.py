"""The tree of what a run left behind: a group for each kind, with steps and sizes."""

from collections.abc import Sequence

from PySide6.QtCore import QItemSelection, QModelIndex, Qt, Signal
from PySide6.QtGui import QIcon, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QHeaderView, QTreeView

from mosaic.gui.assets import pixmap
from mosaic.gui.models.runs.artifacts import GROUPS, Kept
from mosaic.gui.models.shown_text import tip
from mosaic.gui.models.wording import size
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.column_lists import RIGHT

KEPT = int(Qt.ItemDataRole.UserRole)
GROUP = KEPT + 1


class ArtifactTree(QTreeView):
    """Rebuilt when the list changes; what was selected and what was closed stays so."""

    chosen = Signal(object)
    """A Kept, or None for a group."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._items: Sequence[Kept] = ()
        self._closed: set[str] = set()
        self._filling = False
        self._model = QStandardItemModel(0, 2, self)
        self._model.setHorizontalHeaderLabels(["Name", "Size"])
        self._model.horizontalHeaderItem(1).setTextAlignment(RIGHT)
        self.setModel(self._model)
        self.setEditTriggers(QTreeView.EditTrigger.NoEditTriggers)
        self.setIndentation(16)
        self.setUniformRowHeights(True)
        self.setAccessibleName("Artifacts")
        self.setAllColumnsShowFocus(True)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.collapsed.connect(self._closed_group)
        self.expanded.connect(self._opened_group)
        self.selectionModel().selectionChanged.connect(self._selected)
        theme.changed.connect(self._restyle)

    def items(self) -> Sequence[Kept]:
        return self._items

    def show_items(self, items: Sequence[Kept]) -> None:
        if list(items) != list(self._items):
            self._items = items
            self._fill()

    def select(self, path: str) -> bool:
        """Select the thing at this path, if it is listed."""
        for row in range(self._model.rowCount()):
            group = self._model.item(row)
            for place in range(group.rowCount()):
                kept: Kept = group.child(place).data(KEPT)
                if kept.path == path:
                    self.setCurrentIndex(group.child(place).index())
                    return True
        return False

    def _fill(self) -> None:
        current = self._kept_at(self.currentIndex())
        bar = self.verticalScrollBar().value()
        self._filling = True
        self._model.removeRows(0, self._model.rowCount())
        for kind, (title, icon) in GROUPS.items():
            items = [item for item in self._items if item.kind == kind]
            if not items:
                continue
            count = f" ({len(items):,})" if len(items) > 1 else ""
            group = QStandardItem(QIcon(pixmap(self._theme, icon)), title + count)
            group.setData(kind, GROUP)
            self._model.appendRow([group, _sized(sum(item.size_bytes for item in items))])
            for item in items:
                group.appendRow(_cells(item))
            self.setExpanded(group.index(), kind not in self._closed)
        if current is not None:
            self.select(current.path)
        self.verticalScrollBar().setValue(bar)
        self._filling = False

    def _restyle(self) -> None:
        self._fill()

    def _kept_at(self, index: QModelIndex) -> Kept | None:
        found = index.siblingAtColumn(0).data(KEPT) if index.isValid() else None
        return found if isinstance(found, Kept) else None

    def _selected(self, _chosen: QItemSelection, _left: QItemSelection) -> None:
        if not self._filling:
            self.chosen.emit(self._kept_at(self.currentIndex()))

    def _closed_group(self, index: QModelIndex) -> None:
        if not self._filling:
            self._closed.add(str(index.data(GROUP)))

    def _opened_group(self, index: QModelIndex) -> None:
        if not self._filling:
            self._closed.discard(str(index.data(GROUP)))


def _cells(item: Kept) -> list[QStandardItem]:
    name = QStandardItem(item.name)
    name.setData(item, KEPT)
    name.setToolTip(tip(item.path))
    return [name, _sized(item.size_bytes)]


def _sized(size_bytes: int) -> QStandardItem:
    made = QStandardItem(size(size_bytes) if size_bytes else "")
    made.setTextAlignment(RIGHT)
    return made
