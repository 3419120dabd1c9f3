"""A view of log lines: time, level, source and text in fixed columns; only what is visible is looked at or painted.

Not a QListView: that lays out all rows whenever some are added, which at a million of them takes a second.
"""

from datetime import UTC, datetime

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import (
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea

from mosaic.gui.assets import mono_font
from mosaic.gui.models.daemon.news import LogLine
from mosaic.gui.models.runs.log_model import LogModel
from mosaic.gui.theme import Theme

LEFT = 14
COLUMNS = 31
"""Characters before the text."""
_LEVELS = {"INFO": "info", "OK": "ok", "WARN": "warn", "ERR": "bad"}


class LogView(QAbstractScrollArea):
    """Follows the end as long as it is asked to; lines are selected by mouse or keys, Ctrl+C copies them."""

    left_end = Signal()
    """A person went up or selected something: the end must not pull the view away."""

    def __init__(self, model: LogModel, theme: Theme) -> None:
        super().__init__()
        self.follows = True
        self._model, self._theme = model, theme
        self._font = mono_font()
        metrics = QFontMetrics(self._font)
        self._character, self._height = metrics.horizontalAdvance("0"), metrics.height() + 2
        self._anchor = self._head = -1
        """First and last row of the selection, in the order in which they were chosen; -1 is none."""
        self.setAccessibleName("Log")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.horizontalScrollBar().setSingleStep(4 * self._character)
        self.verticalScrollBar().sliderPressed.connect(self.left_end)
        model.rowsInserted.connect(self._grown)
        model.modelReset.connect(self._begun)
        theme.changed.connect(self.viewport().update)
        self._measure()

    @property
    def selected(self) -> range:
        """Rows that are selected."""
        if self._anchor < 0:
            return range(0)
        low, high = sorted((self._anchor, self._head))
        return range(low, min(high + 1, self._model.rowCount()))

    def to_end(self) -> None:
        if self.follows:
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    def copy(self) -> None:
        text = "\n".join(self._model.line(row).text for row in self.selected)
        if text:
            QGuiApplication.clipboard().setText(text)

    def select_all(self) -> None:
        self._select(0, self._model.rowCount() - 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._measure()
        self.to_end()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), self._theme.colour("panel"))
        painter.setFont(self._font)
        first, chosen = self.verticalScrollBar().value(), self.selected
        x = LEFT - self.horizontalScrollBar().value()
        for row in range(first, min(first + self._fitting() + 2, self._model.rowCount())):
            place = QRect(x, (row - first) * self._height, self.viewport().width() - x, self._height)
            if row in chosen:
                painter.fillRect(place.adjusted(-x, 0, 0, 0), self._theme.colour("selected"))
            self._paint_line(painter, place, self._model.line(row))

    def wheelEvent(self, event: QWheelEvent) -> None:
        super().wheelEvent(event)
        if event.angleDelta().y() > 0:
            self.left_end.emit()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        row = self._row_at(event.position().y())
        if event.button() != Qt.MouseButton.LeftButton:
            return
        extends = event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self._anchor >= 0
        self._select(self._anchor if extends else row, row)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton and self._anchor >= 0:
            self._select(self._anchor, self._row_at(event.position().y()))
            self._reveal(self._head)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {
            Qt.Key.Key_Up: -1,
            Qt.Key.Key_Down: 1,
            Qt.Key.Key_PageUp: -self._fitting(),
            Qt.Key.Key_PageDown: self._fitting(),
            Qt.Key.Key_Home: -self._model.rowCount(),
            Qt.Key.Key_End: self._model.rowCount(),
        }
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self.select_all()
        elif (step := steps.get(Qt.Key(event.key()), 0)) and self._model.rowCount():
            row = min(max(self._head + step, 0), self._model.rowCount() - 1)
            extends = event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self._anchor >= 0
            self._select(self._anchor if extends else row, row)
            self._reveal(row)
        else:
            super().keyPressEvent(event)

    def _paint_line(self, painter: QPainter, place: QRect, line: LogLine) -> None:
        clock = datetime.fromtimestamp(line.time, UTC).astimezone().strftime("%H:%M:%S.%f")[:12] if line.time else ""
        x, width = place.left(), place.width()
        for text, characters, token in (
            (clock, 13, "faint"),
            (line.level, 5, _LEVELS.get(line.level, "muted")),
            (line.source, COLUMNS - 18, "muted"),
            (line.text, 0, "bad" if line.level == "ERR" else "text"),
        ):
            painter.setPen(self._theme.colour(token))
            column = QRect(x, place.top(), width, place.height())
            # No longer than what can be seen of it: a line may have a million characters too.
            seen = text if len(text) < 2000 else text[: max(width // self._character + 2, 1)]
            painter.drawText(column, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, seen)
            x += characters * self._character
            width = place.right() - x

    def _fitting(self) -> int:
        return max(self.viewport().height() // self._height, 1)

    def _row_at(self, y: float) -> int:
        row = self.verticalScrollBar().value() + int(y // self._height)
        return min(max(row, 0), self._model.rowCount() - 1)

    def _select(self, anchor: int, head: int) -> None:
        self._anchor, self._head = anchor, head
        self.left_end.emit()
        self.viewport().update()

    def _reveal(self, row: int) -> None:
        bar, fitting = self.verticalScrollBar(), self._fitting()
        if row < bar.value():
            bar.setValue(row)
        elif row >= bar.value() + fitting:
            bar.setValue(row - fitting + 1)

    def _begun(self) -> None:
        self._anchor = self._head = -1
        self._grown()

    def _grown(self) -> None:
        self._measure()
        self.to_end()
        self.viewport().update()

    def _measure(self) -> None:
        fitting = self._fitting()
        self.verticalScrollBar().setPageStep(fitting)
        self.verticalScrollBar().setRange(0, max(self._model.rowCount() - fitting, 0))
        width = LEFT + (COLUMNS + self._model.longest + 2) * self._character
        self.horizontalScrollBar().setPageStep(self.viewport().width())
        self.horizontalScrollBar().setRange(0, max(width - self.viewport().width(), 0))
