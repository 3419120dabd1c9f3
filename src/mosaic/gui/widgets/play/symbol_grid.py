"""The symbolic state of a grid world: a square for each cell, with what stands in it."""

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from mosaic.gui.assets import text_font
from mosaic.gui.theme import Theme

TOKENS = {"floor": "raised", "wall": "faint", "goal": "ok", "danger": "bad", "start": "accent", "passenger": "warn"}
NAMED = {
    "red": "#e05252",
    "green": "#3fa66b",
    "blue": "#4d7ce0",
    "purple": "#9a62d8",
    "yellow": "#d6a419",
    "grey": "#8a93a3",
}
MARGIN = 12
LARGEST = 72


class SymbolGrid(QWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._board: Mapping[str, Any] | None = None
        self.setMinimumSize(120, 100)
        self.setAccessibleName("Symbolic state")
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(360, 300)

    def show_board(self, board: Mapping[str, Any] | None) -> None:
        if board != self._board:
            self._board = board
            text = "" if board is None else f"agent in row {board['agent'][0] + 1}, column {board['agent'][1] + 1}"
            self.setAccessibleDescription(text)
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(event.rect(), self._theme.colour("panel"))
        if self._board is None:
            return
        rows: list[list[list[str]]] = self._board["rows"]
        side = self._side(len(rows), len(rows[0]))
        left = (self.width() - side * len(rows[0])) // 2
        top = (self.height() - side * len(rows)) // 2
        font: QFont = text_font()
        font.setPixelSize(max(8, side // 2))
        font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(font)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for at, row in enumerate(rows):
            for to, (text, colour) in enumerate(row):
                place = QRect(left + to * side, top + at * side, side - 2, side - 2)
                self._paint_cell(painter, place, text, colour)
        painter.setPen(QPen(self._theme.colour("text"), 3))
        for at, to in self._board["walls"]:
            x = left + (to + 1) * side - 1
            painter.drawLine(x, top + at * side, x, top + (at + 1) * side - 2)
        at, to = self._board["agent"]
        self._paint_agent(painter, QRect(left + to * side, top + at * side, side - 2, side - 2))

    def _side(self, rows: int, columns: int) -> int:
        return max(8, min((self.width() - 2 * MARGIN) // columns, (self.height() - 2 * MARGIN) // rows, LARGEST))

    def _paint_cell(self, painter: QPainter, place: QRect, text: str, colour: str) -> None:
        shade = self._theme.colour(TOKENS[colour]) if colour in TOKENS else QColor(NAMED.get(colour, "#8a93a3"))
        fill = QColor(shade)
        if colour not in ("floor", "wall"):
            fill.setAlpha(60)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(fill)
        painter.drawRoundedRect(place, 4, 4)
        if text:
            painter.setPen(self._theme.colour("muted") if colour == "floor" else shade)
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)

    def _paint_agent(self, painter: QPainter, place: QRect) -> None:
        assert self._board is not None
        radius = place.width() * 0.34
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.colour("accent"))
        painter.drawEllipse(QPointF(QRectF(place).center()), radius, radius)
        painter.setPen(self._theme.colour("on_accent"))
        painter.drawText(place, Qt.AlignmentFlag.AlignCenter, str(self._board["facing"]))
