"""The returns of copies in lock-step over each other, by step: who is ahead, and since when."""

import math
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from mosaic.gui.assets import text_font
from mosaic.gui.models.play.copy_curves import Point
from mosaic.gui.theme import Theme

LEAST, MOST = 72, 132
TOP, RIGHT, BOTTOM = 8, 8, 18
GAP = 6


class CopyChart(QWidget):
    """A line for each copy, in the colour that its card has; one axis for all."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._curves: Mapping[str, Sequence[Point]] = {}
        self._font = text_font()
        self._font.setPixelSize(11)
        self.setMinimumHeight(LEAST)
        self.setMaximumHeight(MOST)
        self.setAccessibleName("Return of each copy by step")
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(200, MOST)

    def show_curves(self, curves: Mapping[str, Sequence[Point]]) -> None:
        self._curves = curves
        ends = (f"{seat}: {points[-1][1]:g} after {points[-1][0]} steps" for seat, points in curves.items())
        self.setAccessibleDescription("; ".join(ends))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(event.rect(), self._theme.colour("panel"))
        points = [point for each in self._curves.values() for point in each]
        finite = [value for _, value in points if math.isfinite(value)]
        if not finite:
            return
        last = max(max(step for step, _ in points), 1)
        low, high = min(finite), max(finite)
        high = high if high > low else low + 1.0
        painter.setFont(self._font)
        metrics = QFontMetrics(self._font)
        words = f"{high:.4g}", f"{low:.4g}"
        left = max(metrics.horizontalAdvance(word) for word in words) + GAP
        room = QRectF(left, TOP, self.width() - left - RIGHT, self.height() - TOP - BOTTOM)
        self._paint_axes(painter, room, words, last)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for at, curve in enumerate(self._curves.values()):
            painter.setPen(QPen(self._theme.curve(at), 1.5))
            line = [
                QPointF(
                    room.left() + room.width() * step / last,
                    room.bottom() - room.height() * (value - low) / (high - low),
                )
                for step, value in curve
                if math.isfinite(value)
            ]
            painter.drawPolyline(QPolygonF(line))
            # The place that a copy has reached, also before its first step.
            painter.setBrush(self._theme.curve(at))
            painter.drawEllipse(line[-1], 2.5, 2.5)
            painter.setBrush(Qt.BrushStyle.NoBrush)

    def _paint_axes(self, painter: QPainter, room: QRectF, words: tuple[str, str], last: int) -> None:
        painter.setPen(self._theme.colour("line"))
        painter.drawRect(room)
        painter.setPen(self._theme.colour("muted"))
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(0, room.top() - 2, room.left() - GAP, 14), right, words[0])
        painter.drawText(QRectF(0, room.bottom() - 12, room.left() - GAP, 14), right, words[1])
        below = QRectF(room.left(), room.bottom() + 2, room.width(), BOTTOM - 2)
        painter.drawText(below, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, "0")
        painter.drawText(below, right, f"step {last:,}")


class CurveMark(QWidget):
    """The colour of a copy's line, on its card."""

    def __init__(self, theme: Theme, place: int) -> None:
        super().__init__()
        self._theme, self._place = theme, place
        self.setFixedSize(10, 10)
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.curve(self._place))
        painter.drawEllipse(QRectF(1, 1, 8, 8))
