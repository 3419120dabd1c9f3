"""Trials as dots: values over time with the best so far, or a setting against the value."""

from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QToolTip, QWidget

from mosaic.gui.assets import text_font
from mosaic.gui.models.shown_text import tip
from mosaic.gui.models.sweeps.trial_plots import Axis, Plot, Point
from mosaic.gui.theme import Theme

LEFT, BOTTOM, TOP, RIGHT = 48, 22, 10, 14
DOT = 3.5
NEAR = 12.0
"""Pixels from a dot within which the tool tip is about it."""
COLOURS = {"finished": "accent", "running": "info", "pruned": "faint", "failed": "bad"}
CENTRE = Qt.AlignmentFlag.AlignHCenter
TO_THE_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
AT_THE_END = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop


def small_font() -> QFont:
    font = QFont(text_font())
    font.setPixelSize(10)
    return font


class TrialPlot(QWidget):
    """Painted by hand, as few dots as there are trials."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self._theme = theme
        self.content = Plot()
        self.setMinimumSize(QSize(180, 120))
        self.setMouseTracking(True)
        self.setAccessibleName(name)
        theme.changed.connect(self.update)

    def show_plot(self, content: Plot) -> None:
        self.content = content
        self.setAccessibleDescription(f"{len(content.points)} trials, {content.y_axis.low} to {content.y_axis.high}")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.colour("panel"))
        if not self.content.points:
            return
        painter.setFont(small_font())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_axes(painter)
        self._paint_best(painter)
        for point in self.content.points:
            self._paint_dot(painter, point)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        near = min(self.content.points, key=lambda point: _distance(self._at(point.x, point.y), at), default=None)
        if near is None or _distance(self._at(near.x, near.y), at) > NEAR:
            QToolTip.hideText()
        else:
            QToolTip.showText(event.globalPosition().toPoint(), tip(near.text), self)

    def _plot(self) -> QRectF:
        return QRectF(LEFT, TOP, max(self.width() - LEFT - RIGHT, 1), max(self.height() - TOP - BOTTOM, 1))

    def _at(self, x: float, y: float) -> QPointF:
        plot = self._plot()
        return QPointF(plot.left() + x * plot.width(), plot.bottom() - y * plot.height())

    def _paint_axes(self, painter: QPainter) -> None:
        plot, line, muted = self._plot(), self._theme.colour("line"), self._theme.colour("muted")
        for share in (0.0, 0.5, 1.0):
            painter.setPen(line)
            painter.drawLine(self._at(0, share), self._at(1, share))
        painter.setPen(muted)
        y_axis = self.content.y_axis
        for share, text in ((0.0, y_axis.low), (1.0, y_axis.high)):
            painter.drawText(QRectF(0, self._at(0, share).y() - 8, LEFT - 6, 16), TO_THE_RIGHT, text)
        for share, text in _marks(self.content.x_axis):
            room = QRectF(self._at(share, 0).x() - 40, plot.bottom() + 4, 80, BOTTOM - 4)
            if share == 1.0:
                painter.drawText(QRectF(plot.right() + RIGHT - 120, room.top(), 120, room.height()), AT_THE_END, text)
            else:
                painter.drawText(room, CENTRE, text)

    def _paint_best(self, painter: QPainter) -> None:
        painter.setPen(QPen(self._theme.colour("ok"), 1.6))
        steps = list(self.content.best)
        for (x, y), (further, higher) in pairwise(steps):
            painter.drawLine(self._at(x, y), self._at(further, y))
            painter.drawLine(self._at(further, y), self._at(further, higher))

    def _paint_dot(self, painter: QPainter, point: Point) -> None:
        colour = QColor(self._theme.colour(COLOURS[point.state]))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        middle = self._at(point.x, point.y)
        if point.trial == 0:
            # The default settings, which the others are compared with.
            painter.setPen(QPen(self._theme.colour("warn"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(middle, DOT + 1.5, DOT + 1.5)
            return
        painter.drawEllipse(middle, DOT, DOT)


def _marks(axis: Axis) -> list[tuple[float, str]]:
    if axis.marks and len(axis.marks) <= 5:
        return list(axis.marks)
    return [(0.0, axis.low), (1.0, axis.high)]


def _distance(one: QPointF, other: QPointF) -> float:
    return ((one.x() - other.x()) ** 2 + (one.y() - other.y()) ** 2) ** 0.5
