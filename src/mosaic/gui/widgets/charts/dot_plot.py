"""Dots: trials over time with the best so far, a setting against the value, or one number of runs against another."""

from itertools import pairwise

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QToolTip, QWidget

from mosaic.gui.assets import text_font
from mosaic.gui.models.charts.dot_plots import Axis, Plot, Point
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme

LEFT, BOTTOM, TOP, RIGHT = 48, 22, 20, 14
DOT = 3.5
GAP = 8.0
"""Pixels between two texts of an axis."""
NEAR = 12.0
"""Pixels from a dot within which the tool tip is about it."""
COLOURS = {"finished": "accent", "running": "info", "pruned": "faint", "failed": "bad"}
CENTRE = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop
TO_THE_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1}


def small_font() -> QFont:
    font = QFont(text_font())
    font.setPixelSize(10)
    return font


class DotPlot(QWidget):
    """Painted by hand, as few dots as there are trials or runs. Arrow keys go from dot to dot, by x."""

    chosen = Signal(str)
    """Id of the run whose dot was clicked, or had the cursor at Enter."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self._theme = theme
        self.content = Plot()
        self._cursor: Point | None = None
        self.setMinimumSize(QSize(160, 90))
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(name)
        theme.changed.connect(self.update)

    def show_plot(self, content: Plot) -> None:
        self.content = content
        if self._cursor not in content.points:
            self._cursor = None
        self.setAccessibleDescription(f"{len(content.points)} dots, {content.y_axis.low} to {content.y_axis.high}")
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
        if self._cursor is not None and self.hasFocus():
            painter.setPen(QPen(self._theme.colour("text"), 1.4))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(self._at(self._cursor.x, self._cursor.y), DOT + 3.5, DOT + 3.5)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        near = self._near(event.position())
        if near is None:
            QToolTip.hideText()
        else:
            QToolTip.showText(event.globalPosition().toPoint(), tip(near.text), self)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        near = self._near(event.position())
        if near is not None and near.run_id and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(near.run_id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        in_order = sorted(self.content.points, key=lambda point: (point.x, point.y))
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier or not in_order:
            event.ignore()
            return
        step = STEPS.get(Qt.Key(event.key()))
        if step is not None:
            place = in_order.index(self._cursor) + step if self._cursor is not None else 0
            self._cursor = in_order[max(0, min(place, len(in_order) - 1))]
            at = self._at(self._cursor.x, self._cursor.y).toPoint() + QPoint(6, 6)
            QToolTip.showText(self.mapToGlobal(at), tip(self._cursor.text), self)
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._cursor is not None and self._cursor.run_id:
            self.chosen.emit(self._cursor.run_id)
        else:
            event.ignore()

    def _near(self, at: QPointF) -> Point | None:
        near = min(self.content.points, key=lambda point: _distance(self._at(point.x, point.y), at), default=None)
        return None if near is None or _distance(self._at(near.x, near.y), at) > NEAR else near

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
        metrics = painter.fontMetrics()
        title = metrics.elidedText(y_axis.title, Qt.TextElideMode.ElideRight, int(plot.width()))
        painter.drawText(QPointF(plot.left(), metrics.ascent()), title)
        _paint_x_axis(painter, self.content.x_axis, plot)

    def _paint_best(self, painter: QPainter) -> None:
        painter.setPen(QPen(self._theme.colour("ok"), 1.6))
        steps = list(self.content.best)
        for (x, y), (further, higher) in pairwise(steps):
            painter.drawLine(self._at(x, y), self._at(further, y))
            painter.drawLine(self._at(further, y), self._at(further, higher))

    def _paint_dot(self, painter: QPainter, point: Point) -> None:
        has_own = point.colour is not None
        colour = self._theme.curve(point.colour or 0) if has_own else QColor(self._theme.colour(COLOURS[point.state]))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        middle = self._at(point.x, point.y)
        if point.is_default:
            painter.setPen(QPen(self._theme.colour("warn"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(middle, DOT + 1.5, DOT + 1.5)
            return
        size = DOT + 1 if has_own else DOT
        painter.drawEllipse(middle, size, size)


def _paint_x_axis(painter: QPainter, axis: Axis, plot: QRectF) -> None:
    """The ends, or each choice, and the name of the axis between them; what has no room is left out."""
    metrics, y = painter.fontMetrics(), plot.bottom() + 5
    marks = list(axis.marks) if axis.marks and len(axis.marks) <= 5 else [(0.0, axis.low), (1.0, axis.high)]
    room = plot.width() / max(len(marks) - 1, 1) - GAP
    taken: list[tuple[float, float]] = []
    for share, text in [marks[0], marks[-1], *marks[1:-1]]:
        text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(max(room, 30)))
        width = metrics.horizontalAdvance(text)
        at = plot.left() + share * plot.width()
        left = min(max(at - width / 2, plot.left() - LEFT / 2), plot.right() + RIGHT - width)
        if not any(left < end + GAP and begin < left + width + GAP for begin, end in taken):
            painter.drawText(QPointF(left, y + metrics.ascent()), text)
            taken.append((left, left + width))
    taken.sort()
    middle = max(pairwise(taken), key=lambda pair: pair[1][0] - pair[0][1], default=None)
    if middle is not None and (free := middle[1][0] - middle[0][1] - 2 * GAP) > 30:
        title = metrics.elidedText(axis.title, Qt.TextElideMode.ElideRight, int(free))
        painter.drawText(QRectF(middle[0][1] + GAP, y, free, metrics.height()), CENTRE, title)


def _distance(one: QPointF, other: QPointF) -> float:
    return ((one.x() - other.x()) ** 2 + (one.y() - other.y()) ** 2) ** 0.5
