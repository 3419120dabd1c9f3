"""Parallel coordinates: each trial a line through its settings to its value, the best ones on top and in colour."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QToolTip, QWidget

from mosaic.gui.models.shown_text import tip
from mosaic.gui.models.sweeps.trial_plots import Line, Parallel
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.sweeps.trial_plot import small_font

SIDE, TOP, BOTTOM = 46, 34, 20
TIGHT = 62
"""Pixels between two axes below which their titles stand in two rows."""
ROW = 13
GAP = 6
"""Pixels between two limits; one that has no room beside the one before it is left to the tool tip."""
BEST = 0.9
"""Rank from which a trial is drawn in full colour."""


class ParallelView(QWidget):
    """Painted by hand."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.content = Parallel((), ())
        self.setMinimumSize(QSize(240, 130))
        self.setAccessibleName("Parallel coordinates of the trials")
        self.setMouseTracking(True)
        theme.changed.connect(self.update)

    def show_parallel(self, content: Parallel) -> None:
        self.content = content
        names = ", ".join(axis.title for axis in content.axes)
        self.setAccessibleDescription(f"{len(content.lines)} trials over {names}")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.colour("panel"))
        if len(self.content.axes) < 2 or not self.content.lines:
            return
        painter.setFont(small_font())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for line in self.content.lines:
            painter.setPen(self._pen(line))
            painter.drawPath(self._path(line))
        self._paint_axes(painter)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """What the nearest axis is, in full."""
        axes = self.content.axes
        if len(axes) < 2:
            return
        place = min(range(len(axes)), key=lambda at: abs(self._x(at) - event.position().x()))
        axis = axes[place]
        QToolTip.showText(event.globalPosition().toPoint(), tip(f"{axis.title}: {axis.low} to {axis.high}"), self)

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
        if line.trial == 0:
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
            painter.drawText(QRectF(x - width / 2, y, width, ROW + 1), Qt.AlignmentFlag.AlignHCenter, title)
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
