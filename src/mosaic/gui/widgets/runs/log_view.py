"""A view of log lines: time, level, source and text in fixed columns; only what is visible is looked at or painted.

The scroll bar stands for the whole log, of which a few pages are there: by lines where all of them are, else by bytes.
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
from mosaic.gui.models.runs.log_model import LogModel
from mosaic.gui.theme import Theme
from mosaic.spec.logs.log_line import LogLine, LogPlace

LEFT = 14
COLUMNS = 31
"""Characters before the text."""
NEAR = 100
"""Lines from an edge of what is there at which more is asked for."""
PARTS = 100_000
"""Of the scroll bar, where it stands for bytes."""
WHEEL = 40
"""Eighths of a degree for a line: three lines a notch."""
FOUND_OPACITY = 0.35
_LEVELS = {"INFO": "info", "OK": "ok", "WARN": "warn", "ERR": "bad"}


class LogView(QAbstractScrollArea):
    """Follows the end as long as it is asked to; lines are selected by mouse or keys, Ctrl+C copies them."""

    left_end = Signal()
    """A person went up or selected something: the end must not pull the view away."""

    def __init__(self, model: LogModel, theme: Theme) -> None:
        super().__init__()
        self._model, self._theme = model, theme
        self._top = 0
        """The first row that is seen."""
        self._turned = 0
        """How far the wheel was turned beyond whole lines."""
        self._is_showing = False
        """The scroll bar is being set to what is seen."""
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
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        model.rowsInserted.connect(self._take_rows)
        model.rowsRemoved.connect(self._drop_rows)
        model.modelReset.connect(self._begin_anew)
        model.jumped.connect(self._jump)
        model.changed.connect(self._measure)
        theme.changed.connect(self.viewport().update)
        self._measure()

    @property
    def follows(self) -> bool:
        return self._model.follows

    @property
    def top(self) -> int:
        """The first row that is seen."""
        return self._top

    @property
    def is_at_end(self) -> bool:
        return self._model.is_end and self._top >= self._last_top

    def line_beside(self) -> LogLine | None:
        """The selected line, else the first that is seen; None where there are none."""
        row = self._head if self._head >= 0 else self._top
        return self._model.line(row) if row < self._model.rowCount() else None

    def place_beside(self, *, backwards: bool) -> LogPlace:
        """Where a search goes on: beside the selected line, else from where the lines that are seen end or begin."""
        rows = self._model.rowCount()
        if not rows:
            return self._model.first
        if self._head >= 0:
            line = self._model.line(min(self._head, rows - 1))
            return line.place if backwards else line.after
        if backwards:
            return self._model.line(min(self._top + self._fitting(), rows) - 1).after
        return self._model.line(self._top).place

    @property
    def selected(self) -> range:
        """Rows that are selected."""
        if self._anchor < 0:
            return range(0)
        low, high = sorted((self._anchor, self._head))
        return range(low, min(high + 1, self._model.rowCount()))

    def follow(self, follows: bool) -> None:
        """Keep the end in sight, from now on or no more."""
        self._model.follows = follows
        if follows and not self._model.is_end:
            self._model.to_end()
        self.to_end()

    def to_end(self) -> None:
        if self.follows and self._model.is_end:
            self._go(self._last_top)

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
        first, chosen = self._top, self.selected
        x = LEFT - self.horizontalScrollBar().value()
        for row in range(first, min(first + self._fitting() + 2, self._model.rowCount())):
            place = QRect(x, (row - first) * self._height, self.viewport().width() - x, self._height)
            if row in chosen:
                painter.fillRect(place.adjusted(-x, 0, 0, 0), self._theme.colour("selected"))
            self._paint_line(painter, place, self._model.line(row))

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier or event.angleDelta().x():
            super().wheelEvent(event)
            return
        self._turned += event.angleDelta().y()
        lines, self._turned = int(self._turned / WHEEL), self._turned - int(self._turned / WHEEL) * WHEEL
        if event.angleDelta().y() > 0:
            self.left_end.emit()
        self._go(self._top - lines)
        event.accept()

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
        elif event.key() == Qt.Key.Key_Home and not self._model.is_start:
            self.left_end.emit()
            self._model.to_part(0.0)
        elif event.key() == Qt.Key.Key_End and not self._model.is_end:
            self._model.to_end()
        elif (step := steps.get(Qt.Key(event.key()), 0)) and self._model.rowCount():
            here = self._head if self._head >= 0 else self._top + self._fitting() if step < 0 else self._top - 1
            row = min(max(here + step, 0), self._model.rowCount() - 1)
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
            if not characters and self._model.text:
                self._paint_found(painter, column, seen)
            painter.drawText(column, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, seen)
            x += characters * self._character
            width = place.right() - x

    def _paint_found(self, painter: QPainter, column: QRect, text: str) -> None:
        """Behind the text: where it is what is looked for."""
        wanted, low = self._model.text.lower(), text.lower()
        metrics, colour = painter.fontMetrics(), self._theme.colour("warn")
        colour.setAlphaF(FOUND_OPACITY)
        at = low.find(wanted)
        while at >= 0 and len(low) == len(text):
            left = column.left() + metrics.horizontalAdvance(text[:at])
            width = metrics.horizontalAdvance(text[at : at + len(wanted)])
            painter.fillRect(QRect(left, column.top(), width, column.height()), colour)
            at = low.find(wanted, at + len(wanted))

    @property
    def _last_top(self) -> int:
        return max(self._model.rowCount() - self._fitting(), 0)

    @property
    def _is_whole(self) -> bool:
        return self._model.is_start and self._model.is_end

    def _fitting(self) -> int:
        return max(self.viewport().height() // self._height, 1)

    def _row_at(self, y: float) -> int:
        return min(max(self._top + int(y // self._height), 0), self._model.rowCount() - 1)

    def _select(self, anchor: int, head: int) -> None:
        self._anchor, self._head = anchor, head
        self.left_end.emit()
        self.viewport().update()

    def _reveal(self, row: int) -> None:
        fitting = self._fitting()
        if row < self._top:
            self._go(row)
        elif row >= self._top + fitting:
            self._go(row - fitting + 1)

    def _go(self, top: int) -> None:
        """Show this row first; near an edge of what is there more is asked for."""
        self._top = min(max(top, 0), self._last_top)
        if self._top < NEAR:
            self._model.more_before()
        if self._top > self._last_top - NEAR:
            self._model.more_after()
        self._show_place()
        self.viewport().update()

    def _scrolled(self, value: int) -> None:
        """The user moved the scroll bar."""
        if self._is_showing:
            return
        if self._is_whole:
            self._go(value)
        elif value >= self.verticalScrollBar().maximum():
            self._model.to_end()
        else:
            self._model.to_part(value / PARTS)

    def _begin_anew(self) -> None:
        self._anchor = self._head = -1
        self._top = 0
        self._measure()
        self.viewport().update()

    def _jump(self, row: int, found: bool) -> None:
        if found:
            self._select(row, row)
            self._go(row - self._fitting() // 2)
        else:
            self._go(row)
            self.to_end()

    def _take_rows(self, _: object, first: int, last: int) -> None:
        if first == 0 and self._model.rowCount() > last + 1:
            self._shift(last + 1)
        self._measure()
        self.to_end()

    def _drop_rows(self, _: object, first: int, last: int) -> None:
        if first == 0:
            self._shift(-(last + 1))
        elif self._anchor >= first or self._head >= first:
            self._anchor = self._head = -1
        self._measure()

    def _shift(self, rows: int) -> None:
        """Rows came or went before those that are seen: these stay where they are."""
        self._top = max(self._top + rows, 0)
        if self._anchor >= 0:
            self._anchor, self._head = self._anchor + rows, self._head + rows
            if self._anchor < 0 or self._head < 0:
                self._anchor = self._head = -1

    def _measure(self) -> None:
        self._top = min(self._top, self._last_top)
        self._show_place()
        width = LEFT + (COLUMNS + self._model.longest + 2) * self._character
        self.horizontalScrollBar().setPageStep(self.viewport().width())
        self.horizontalScrollBar().setRange(0, max(width - self.viewport().width(), 0))
        self.viewport().update()

    def _show_place(self) -> None:
        bar, fitting = self.verticalScrollBar(), self._fitting()
        self._is_showing = True
        if self._is_whole:
            bar.setPageStep(fitting)
            bar.setRange(0, self._last_top)
            bar.setValue(self._top)
        elif not bar.isSliderDown():
            bar.setPageStep(PARTS // 50)
            bar.setRange(0, PARTS)
            before = self._model.line(self._top).place.bytes if self._top < self._model.rowCount() else 0
            # The end of the bar is the end of the log, and nothing else is.
            part = min(int(PARTS * before / max(self._model.total_bytes, 1)), PARTS - 1)
            bar.setValue(PARTS if self.is_at_end else part)
        self._is_showing = False
