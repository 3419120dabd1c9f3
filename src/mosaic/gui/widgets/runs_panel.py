"""The list of runs with its filter; several can be selected."""

from PySide6.QtCore import QItemSelectionModel, Qt, QTimer
from PySide6.QtWidgets import QAbstractItemView, QListView, QVBoxLayout, QWidget

from mosaic.gui.models.runs_model import RECORD, FilteredRuns
from mosaic.gui.models.studio import Studio
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.parts import icon_label, label, row, search_field
from mosaic.gui.widgets.run_delegate import RunDelegate


class RunsPanel(QWidget):
    """Newest first; the newest is selected until somebody selects another."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self.setProperty("panel", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._studio = studio
        self._count = label("", "faint")
        self._filtered = FilteredRuns(studio.runs)
        self.filter = search_field(theme, "Filter runs…", self._filter)
        self.view = QListView()
        self._delegate = RunDelegate(theme)  # the view does not own it
        self.view.setModel(self._filtered)
        self.view.setItemDelegate(self._delegate)
        self.view.setUniformItemSizes(True)
        self.view.setMouseTracking(True)
        self.view.setAccessibleName("Runs")
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        # Several signals of one click or one removed row make one selection.
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.timeout.connect(self._selected)
        self.view.selectionModel().selectionChanged.connect(self._settle_later)
        self._filtered.rowsInserted.connect(self._select_first)
        studio.runs_changed.connect(self._show_count)
        theme.changed.connect(self.view.viewport().update)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(
            row(icon_label(theme, "layers"), label("Runs", "heading"), 1, self._count, margins=(14, 12, 14, 10))
        )
        layout.addLayout(row(self.filter, margins=(10, 2, 10, 8)))
        layout.addWidget(self.view, 1)
        self.setMinimumWidth(256)

    def select(self, run_ids: list[str]) -> None:
        """Select these runs in the list, the first as the current one."""
        chosen = self.view.selectionModel()
        chosen.clearSelection()
        for run_id in reversed(run_ids):
            place = self._studio.runs.row_of(run_id)
            if place is not None:
                index = self._filtered.mapFromSource(self._studio.runs.index(place))
                chosen.setCurrentIndex(index, QItemSelectionModel.SelectionFlag.Select)

    def _settle_later(self) -> None:
        self._settle.start()

    def _filter(self, text: str) -> None:
        self._filtered.setFilterFixedString(text)
        self._show_count()

    def _select_first(self) -> None:
        if not self.view.selectionModel().hasSelection() and not self._studio.selected:
            self.view.setCurrentIndex(self._filtered.index(0, 0))

    def _selected(self) -> None:
        chosen = self.view.selectionModel()
        current = chosen.currentIndex()
        indexes = sorted(chosen.selectedIndexes(), key=lambda index: (index != current, index.row()))
        self._studio.select([index.data(RECORD).run_id for index in indexes])

    def _show_count(self) -> None:
        total, shown = self._studio.runs.rowCount(), self._filtered.rowCount()
        self._count.setText(f"{shown:,} of {total:,}" if self.filter.text() else f"{total:,}")
