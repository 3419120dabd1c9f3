"""The list of runs with its filter, its order and its groups; several runs can be selected."""

from collections.abc import Callable, Iterable, Sequence
from typing import cast

from PySide6.QtCore import (
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QPoint,
    QSettings,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QAction, QActionGroup, QEnterEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QListView, QMenu, QToolButton, QWidget

from mosaic.gui.models.runs.arranged_runs import GROUP, ArrangedRuns, stretches
from mosaic.gui.models.runs.run_order import GROUPINGS, SORTS, Grouping, Sort
from mosaic.gui.models.runs.runs_model import Index
from mosaic.gui.models.studio import MOST_DRAWN, Studio
from mosaic.gui.models.wording import indexing_of
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import Panel, column, icon_label, label, row, search_field
from mosaic.gui.widgets.runs.run_delegate import CHEVRON, HEIGHT, RunDelegate
from mosaic.gui.widgets.tool_button import IconTool


class RunsPanel(Panel):
    """The first run is selected until the user selects another; a heading stands for all runs under it."""

    table_asked = Signal()

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio = studio
        self._is_rearranging = False
        self._wants_none = False
        """The user has unselected everything: that is not a reason to select the first run again."""
        self._chosen: list[str] = []
        """Runs and groups as they were selected, the current one first."""
        self._scrolled = 0
        self._top, self._top_row = "", 0
        """What stood at the top of the view, while the pointer is over it."""
        self._count = label("", "faint")
        self.indexing = label("", "muted")
        """How far the daemon's index is, while it is being built."""
        self.arranged = ArrangedRuns(studio.runs)
        self.filter = search_field(theme, "Filter runs…", self._filter)
        self.view = RunView(self.arranged, theme)
        self._order = OrderButton(theme, self.arranged)
        # Several signals of one click make one selection.
        self._settle = QTimer(self, singleShot=True)
        self._settle.timeout.connect(self._selected)
        self.view.selectionModel().selectionChanged.connect(self._settle_later)
        self.arranged.about_to_change.connect(self._before_rearranging)
        self.arranged.changed.connect(self._after_rearranging)
        studio.runs_changed.connect(self._show_count)
        studio.selection_changed.connect(self._follow)
        studio.link.health_changed.connect(self._show_indexing)
        as_table = IconTool(theme, "table-2", "All runs as a table, and back (Ctrl+Shift+R)", self.table_asked.emit)
        heading = (icon_label(theme, "layers"), label("Runs", "heading"), 1, self._count, self._order, as_table)
        above, indexing = row(*heading, margins=(14, 8, 8, 6)), row(self.indexing, margins=(14, 0, 10, 6))
        column(self, above, row(self.filter, margins=(10, 2, 10, 8)), indexing, (self.view, 1))
        self.setMinimumWidth(256)
        # The list comes first: that is where the arrow keys belong when the window opens.
        QWidget.setTabOrder(self.view, self.filter)
        QWidget.setTabOrder(self.filter, self._order)
        self._after_rearranging()
        self._show_indexing()

    def select(self, keys: Sequence[str]) -> None:
        """Select these runs or groups, the first as the current one; those that the filter hides are left out."""
        self.arranged.settle()
        self.arranged.reveal(keys)
        self._select_shown(keys)

    def _select_shown(self, keys: Sequence[str]) -> None:
        self.arranged.settle()
        rows = [place for key in keys if (place := self.arranged.row_of(key)) is not None]
        selection = QItemSelection()
        for first, last in stretches(sorted(rows)):
            selection.select(self.arranged.index(first), self.arranged.index(last))
        chosen, flags = self.view.selectionModel(), QItemSelectionModel.SelectionFlag
        chosen.select(selection, flags.ClearAndSelect)
        if rows:
            chosen.setCurrentIndex(self.arranged.index(rows[0]), flags.NoUpdate)

    @property
    def chosen(self) -> list[str]:
        """All runs that are selected, drawn or not, the current one first."""
        return self._runs_of(self._chosen)

    def save(self, settings: QSettings) -> None:
        self._order.save(settings)

    def restore(self, settings: QSettings) -> None:
        self._order.restore(settings)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.filter.hasFocus() and event.key() == Qt.Key.Key_Escape:
            self.filter.clear()
        elif self.filter.hasFocus() and event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.view.setFocus()
        else:
            super().keyPressEvent(event)

    def _settle_later(self) -> None:
        if not self._is_rearranging:
            self._settle.start()

    def _filter(self, text: str) -> None:
        self.arranged.filter(text)
        self._show_count()

    def _before_rearranging(self) -> None:
        self._is_rearranging = True
        self._scrolled = self.view.verticalScrollBar().value()
        top = self.view.indexAt(QPoint(1, 1)) if self.view.underMouse() else None
        self._top = self.arranged.key_at(top.row()) if top is not None and top.isValid() else ""
        self._top_row = top.row() if self._top and top is not None else 0

    def _after_rearranging(self) -> None:
        """What is selected stays so, whether it is shown now or not."""
        if not self._settle.isActive():
            self._show_selection()
            place = self.arranged.row_of(self._top) if self._top else None
            # What came above must not push away what is pointed at.
            moved = 0 if place is None else (place - self._top_row) * HEIGHT
            self.view.verticalScrollBar().setValue(self._scrolled + moved)
        self._is_rearranging = False
        self._select_first()
        self._show_count()

    def _follow(self) -> None:
        """Another part of the window may have selected runs, or the selected ones may be gone."""
        if list(self._studio.selected) != self.chosen[:MOST_DRAWN]:
            self._settle.stop()  # what was selected here a moment ago is older
            self._chosen = list(self._studio.selected)
            self._is_rearranging = True
            self._show_selection()
            self._is_rearranging = False
            if self._chosen and (place := self.arranged.row_of(self._chosen[0])) is not None:
                self.view.scrollTo(self.arranged.index(place))
        self._select_first()

    def _show_selection(self) -> None:
        selected = {self.arranged.key_at(index.row()) for index in self.view.selectionModel().selectedIndexes()}
        if selected != {key for key in self._chosen if self.arranged.row_of(key) is not None}:
            self._select_shown(self._chosen)

    def _select_first(self) -> None:
        if not self._studio.selected and not self._wants_none and self.arranged.rowCount():
            self.view.setCurrentIndex(self.arranged.index(self.arranged.first_run()))

    def _selected(self) -> None:
        chosen = self.view.selectionModel()
        current = chosen.currentIndex()

        def current_first(index: QModelIndex) -> tuple[bool, int]:
            return index != current, index.row()

        indexes = sorted(chosen.selectedIndexes(), key=current_first)
        self._chosen = [self.arranged.key_at(index.row()) for index in indexes]
        self._wants_none = not self._chosen
        self._studio.select(self.chosen)

    def _runs_of(self, keys: Sequence[str]) -> list[str]:
        return list(dict.fromkeys(run_id for key in keys for run_id in self.arranged.runs_of(key)))

    def _show_indexing(self) -> None:
        text = indexing_of(self._studio.link.health)
        self.indexing.setText(text)
        self.indexing.setVisible(bool(text))

    def _show_count(self) -> None:
        total = self._studio.runs.rowCount()
        self._count.setText(f"{self.arranged.run_count:,} of {total:,}" if self.filter.text() else f"{total:,}")


class OrderButton(IconTool):
    """Its menu acts on the list at once."""

    def __init__(self, theme: Theme, arranged: ArrangedRuns) -> None:
        super().__init__(theme, "arrow-up-down", "Sort and group")
        self._arranged = arranged
        self.choices = QMenu(self)
        self._sorts = self._add("Sort by", SORTS.items(), lambda name: arranged.show_by(sort=cast(Sort, name)))
        self.choices.addSeparator()
        self._groupings = self._add(
            "Group by", GROUPINGS.items(), lambda name: arranged.show_by(grouping=cast(Grouping, name))
        )
        self.choices.addSeparator()
        self.choices.addAction("Collapse all", lambda: arranged.collapse_all(collapsed=True))
        self.choices.addAction("Expand all", lambda: arranged.collapse_all(collapsed=False))
        self.setMenu(self.choices)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)

    def save(self, settings: QSettings) -> None:
        settings.setValue("runs/sort", self._arranged.sorting)
        settings.setValue("runs/grouping", self._arranged.grouping)

    def restore(self, settings: QSettings) -> None:
        """As it was saved; what this version does not know is left as it is."""
        for name, choices in (("runs/sort", self._sorts), ("runs/grouping", self._groupings)):
            for action in choices.actions():
                if action.data() == settings.value(name):
                    action.trigger()

    def _add(self, title: str, choices: Iterable[tuple[str, str]], choose: Callable[[str], object]) -> QActionGroup:
        # Not addSection: its text does not survive a style sheet.
        self.choices.addAction(title).setEnabled(False)
        made = QActionGroup(self.choices)
        for place, (name, text) in enumerate(choices):
            action = self.choices.addAction(text)
            action.setCheckable(True)
            action.setChecked(place == 0)
            action.setData(name)
            made.addAction(action)

        def chosen(action: QAction) -> None:
            choose(str(action.data()))

        made.triggered.connect(chosen)
        return made


class RunView(QListView):
    """Left and right close and open a group, as do a click on its chevron, a double click and the space bar."""

    delete_asked = Signal()

    def __init__(self, arranged: ArrangedRuns, theme: Theme) -> None:
        super().__init__()
        self._arranged = arranged
        self._delegate = RunDelegate(theme)  # the view does not own it
        self.setModel(arranged)
        self.setItemDelegate(self._delegate)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setAccessibleName("Runs")
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        theme.changed.connect(self.viewport().update)

    def dataChanged(self, first: Index, last: Index, roles: Sequence[int] = ()) -> None:
        """All rows have one height: a QListView would lay out all of them, ten thousand, for one that has changed."""
        QAbstractItemView.dataChanged(self, first, last, roles)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._arranged.hold(True)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._arranged.hold(False)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        group = index.data(GROUP) if index.isValid() else None
        is_left = event.button() == Qt.MouseButton.LeftButton
        if group is not None and is_left and event.position().x() < CHEVRON:
            self._arranged.collapse(index.row(), collapsed=not group.is_collapsed)
        else:
            super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        group = index.data(GROUP) if index.isValid() else None
        if group is not None:
            self._arranged.collapse(index.row(), collapsed=not group.is_collapsed)
        else:
            super().mouseDoubleClickEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        group = index.data(GROUP) if index.isValid() else None
        if index.isValid() and event.key() == Qt.Key.Key_Left:
            heading = self._arranged.heading_of(index.row())
            if group is not None:
                self._arranged.collapse(index.row(), collapsed=True)
            elif heading is not None:
                self.setCurrentIndex(self._arranged.index(heading))
        elif event.key() == Qt.Key.Key_Delete:
            self.delete_asked.emit()
        elif group is not None and event.key() == Qt.Key.Key_Right:
            self._arranged.collapse(index.row(), collapsed=False)
        elif group is not None and event.key() == Qt.Key.Key_Space:
            self._arranged.collapse(index.row(), collapsed=not group.is_collapsed)
        else:
            super().keyPressEvent(event)
