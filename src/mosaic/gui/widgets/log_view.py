"""A view of log lines: time, level and text in fixed columns; only what is visible is painted."""

from datetime import UTC, datetime

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from mosaic.gui.assets import mono_font
from mosaic.gui.models.batch import LogLine
from mosaic.gui.models.log_model import LINE, LogModel
from mosaic.gui.theme import Theme

Index = QModelIndex | QPersistentModelIndex
_LEVELS = {"INFO": "info", "OK": "ok", "WARN": "warn", "ERR": "bad"}


class LogView(QListView):
    """Follows the end as long as it is asked to; Ctrl+C copies the selected lines."""

    def __init__(self, model: LogModel, theme: Theme) -> None:
        super().__init__()
        self.follows = True
        self._model = model
        self._delegate = _LineDelegate(theme)
        self.setModel(model)
        self.setItemDelegate(self._delegate)
        self.setUniformItemSizes(True)
        self.setAccessibleName("Log")
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        model.rowsInserted.connect(self._grown)
        model.modelReset.connect(self._grown)
        theme.changed.connect(self.viewport().update)

    def _grown(self) -> None:
        if self._model.longest > self._delegate.characters:
            self._delegate.characters = self._model.longest
            self.scheduleDelayedItemsLayout()
        self.to_end()

    def to_end(self) -> None:
        if self.follows:
            self.scrollToBottom()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not event.matches(QKeySequence.StandardKey.Copy):
            super().keyPressEvent(event)
            return
        indexes = sorted(self.selectedIndexes(), key=QModelIndex.row)
        QGuiApplication.clipboard().setText("\n".join(str(index.data()) for index in indexes))


class _LineDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._font = mono_font()
        self.characters = 0
        """Of the longest text."""
        metrics = QFontMetrics(self._font)
        self._character, self._height = metrics.horizontalAdvance("0"), metrics.height() + 2

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: ARG002
        # Uniform sizes take the first line's for all, so it has the width of the longest.
        return QSize(self._character * (self.characters + 31), self._height)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        line: LogLine = index.data(LINE)
        place: QRect = getattr(option, "rect")  # noqa: B009 (the stubs do not know the fields of style options)
        state: QStyle.StateFlag = getattr(option, "state")  # noqa: B009
        painter.save()
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(place, self._theme.colour("selected"))
        painter.setFont(self._font)
        x = place.left() + 14
        clock = datetime.fromtimestamp(line.time, UTC).astimezone().strftime("%H:%M:%S.%f")[:12] if line.time else ""
        for text, width, token in (
            (clock, 13, "faint"),
            (line.level, 5, _LEVELS.get(line.level, "muted")),
            (line.source, 10, "muted"),
            (line.text, 0, "bad" if line.level == "ERR" else "text"),
        ):
            painter.setPen(self._theme.colour(token))
            painter.drawText(QRect(x, place.top(), 100_000, place.height()), Qt.AlignmentFlag.AlignVCenter, text)
            x += width * self._character
        painter.restore()
