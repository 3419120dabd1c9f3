"""Parallel coordinates: each trial, or run, a line through its settings to its value, the best on top and in colour."""

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QToolTip, QWidget

from mosaic.gui.models.charts.dot_plots import Line, Parallel
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.charts.dot_plot import STEPS, small_font

SIDE, TOP, BOTTOM = 46, 34, 20
TIGHT = 62
"""Pixels between two axes below which their titles stand in two rows."""
ROW = 13
GAP = 6
"""Pixels between two limits; one that has no room beside the one before it is left to the tool tip."""
NEAR = 8.0
"""Pixels from a run's line within which the tool tip is about the run."""
BEST = 0.9
"""Rank from which a trial is drawn in full colour."""


class ParallelView(QWidget):
    """Painted by hand."""

    chosen = Signal(str)
    """Id of the run whose line was clicked, or had the cursor at Enter."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self._theme = theme
        self.content = Parallel()
        self._near: Line | None = None
        """The run under the mouse or the cursor."""
        self.setMinimumSize(QSize(160, 90))
        self.setAccessibleName(name)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        theme.changed.connect(self.update)

    def show_parallel(self, content: Parallel) -> None:
        self.content = content
        self._near = None
        names = ", ".join(axis.title for axis in content.axes)
        self.setAccessibleDescription(f"{len(content.lines)} lines over {names}")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.colour("panel"))
        if len(self.content.axes) < 2 or not self.content.lines:
            return
        painter.setFont(small_font())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for line in (*self.content.lines, *([self._near] if self._near is not None else [])):
            painter.setPen(self._pen(line))
            painter.drawPath(self._path(line))
        self._paint_axes(painter)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Which run is nearest, or else what the nearest axis is, in full."""
        axes = self.content.axes
        if len(axes) < 2:
            return
        at = event.position()
        runs = [line for line in self.content.lines if line.text]
        near = min(runs, key=lambda line: self._distance(line, at), default=None)
        self._point_at(near if near is not None and self._distance(near, at) <= NEAR else None)
        if self._near is not None:
            QToolTip.showText(event.globalPosition().toPoint(), tip(self._near.text), self)
            return
        place = min(range(len(axes)), key=lambda at: abs(self._x(at) - event.position().x()))
        axis = axes[place]
        QToolTip.showText(event.globalPosition().toPoint(), tip(f"{axis.title}: {axis.low} to {axis.high}"), self)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._near is not None and self._near.run_id and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(self._near.run_id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows go from run to run, Enter chooses it."""
        runs = [line for line in self.content.lines if line.text]
        step = STEPS.get(Qt.Key(event.key()))
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier or not runs:
            event.ignore()
        elif step is not None:
            place = runs.index(self._near) + step if self._near in runs else 0
            self._point_at(runs[max(0, min(place, len(runs) - 1))])
            if self._near is not None:
                QToolTip.showText(self.mapToGlobal(QPoint(SIDE, self._top)), tip(self._near.text), self)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._near is not None and self._near.run_id:
            self.chosen.emit(self._near.run_id)
        else:
            event.ignore()

    def _point_at(self, line: Line | None) -> None:
        if line is not self._near:
            self._near = line
            self.update()

    def _distance(self, line: Line, at: QPointF) -> float:
        """From the line to a point, upwards."""
        place = (at.x() - SIDE) / max(self._between, 1e-9)
        left = max(0, min(int(place), len(line.places) - 2))
        one, other = line.places[left : left + 2]
        if one is None or other is None:
            return float("inf")
        share = min(max(place - left, 0.0), 1.0)
        return abs(self._y(one + (other - one) * share) - at.y())

    @property
    def _between(self) -> float:
        """Pixels from axis to axis."""
        return (self.width() - 2 * SIDE) / max(len(self.content.axes) - 1, 1)

    @property
    def _top(self) -> int:
        return TOP + (ROW if self._between < TIGHT else 0)

    def _x(self, place: int) -> float:
        return SIDE + place * self._between

    def _y(self, share: float) -> float:
        return self.height() - BOTTOM - share * max(self.height() - self._top - BOTTOM, 1)

    def _pen(self, line: Line) -> QPen:
        if line.colour is not None:
            colour = QColor(self._theme.curve(line.colour))
            colour.setAlphaF(1.0 if line is self._near else 0.75)
            return QPen(colour, 2.6 if line is self._near else 1.4)
        if line.is_default:
            return QPen(self._theme.colour("warn"), 2.0, Qt.PenStyle.DashLine)
        colour = QColor(self._theme.colour("ok" if line.rank >= BEST else "accent"))
        if line.state in ("pruned", "failed"):
            colour = QColor(self._theme.colour("faint"))
        colour.setAlphaF(1.0 if line.rank >= BEST else 0.18 + 0.5 * line.rank)
        return QPen(colour, 2.0 if line.rank >= BEST else 1.2)

    def _path(self, line: Line) -> QPainterPath:
        path, is_down = QPainterPath(), False
        for place, share in enumerate(line.places):
            if share is None:
                is_down = False
                continue
            at = QPointF(self._x(place), self._y(share))
            path.lineTo(at) if is_down else path.moveTo(at)
            is_down = True
        return path

    def _paint_axes(self, painter: QPainter) -> None:
        is_tight = self._between < TIGHT
        width = max(self._between * (2 if is_tight else 1) - 4, 40)
        for place, axis in enumerate(self.content.axes):
            x = self._x(place)
            painter.setPen(self._theme.colour("muted"))
            painter.drawLine(QPointF(x, self._y(0)), QPointF(x, self._y(1)))
            title = painter.fontMetrics().elidedText(axis.title, Qt.TextElideMode.ElideRight, int(width))
            painter.setPen(self._theme.colour("text"))
            y = 2 + (ROW if is_tight and place % 2 else 0)
            # Those at the ends are moved in, so that nothing of them is cut off.
            wide = painter.fontMetrics().horizontalAdvance(title)
            left = min(max(x - wide / 2, 2.0), self.width() - wide - 2.0)
            painter.drawText(QPointF(left, y + painter.fontMetrics().ascent()), title)
        painter.setPen(self._theme.colour("muted"))
        self._paint_limits(painter, [axis.high for axis in self.content.axes], self._top - 16)
        self._paint_limits(painter, [axis.low for axis in self.content.axes], self._y(0) + 4)

    def _paint_limits(self, painter: QPainter, texts: Sequence[str], y: float) -> None:
        free = 0.0
        for place, text in enumerate(texts):
            wide = painter.fontMetrics().horizontalAdvance(text)
            left = self._x(place) - wide / 2
            if left >= free:
                painter.drawText(QPointF(left, y + painter.fontMetrics().ascent()), text)
                free = left + wide + GAP
