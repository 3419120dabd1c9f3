"""The view of the list of runs: mouse and keys, and what they do to headings."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QListView

from mosaic.gui.models.arranged_runs import GROUP, ArrangedRuns
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.run_delegate import CHEVRON, RunDelegate


class RunView(QListView):
    """Left and right close and open a group, as do a click on its chevron, a double click and the space bar."""

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
        elif group is not None and event.key() == Qt.Key.Key_Right:
            self._arranged.collapse(index.row(), collapsed=False)
        elif group is not None and event.key() == Qt.Key.Key_Space:
            self._arranged.collapse(index.row(), collapsed=not group.is_collapsed)
        else:
            super().keyPressEvent(event)
