"""The widget that knows pyqtgraph: the curves of one tag, with as many points as the screen has pixels.

pyqtgraph has no types: what comes out of it is Any, and stays in this file and in the axis.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

import numpy as np
import pyqtgraph
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPen, QWheelEvent

from mosaic.gui.assets import text_font
from mosaic.gui.models.charts.chart_options import XAxis
from mosaic.gui.models.charts.plotted_curve import Drawn, Fall, Plotted
from mosaic.gui.models.charts.series import Column
from mosaic.gui.models.wording import duration, number
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.charts.chart_axis import NARROWEST, ChartAxis

RAW_ALPHA, FAINTEST = 42, 9
"""Of the values behind the smoothed line: the more curves, the fainter, or their noise would be all one sees."""
BAND_ALPHA = 44
EACH_ALPHA = 110
"""Of the seeds of a group that has too few of them for a band."""
THICK = 1.6
MOST_THICK = 3000
"""Points up to which lines are thick: the rasteriser has a fast path for width 1, and for nothing wider."""
MOST_POINTS = 50_000
"""Points of a chart: with a hundred curves each has fewer of them, but always its extremes."""
MOST_WITH_RAW = 12
"""Curves above which the values behind the smoothed lines are left out: one would see nothing else."""
MOST_SMOOTH = 24
"""Curves above which lines are drawn without smooth edges: painting must not stall."""
NEAR = 0.06
"""Of the width of the chart: marks of n that are nearer than this to the next are left out."""
_NONE: Column = np.empty(0)

_pg: Any = cast(Any, pyqtgraph)


class ScalarChart(_pg.PlotWidget):
    """Drag to zoom, Ctrl and wheel to zoom, double click to see all. A zoom stays while data arrives."""

    pointed = Signal(object)
    """The x under the mouse; None when it leaves."""
    hovered = Signal(str)
    """Values at the cross as rich text; empty when there is no cross."""
    zoomed = Signal(bool)

    def __init__(self, theme: Theme) -> None:
        self._axes = {side: ChartAxis(orientation=side) for side in ("bottom", "left")}
        super().__init__(axisItems=self._axes, enableMenu=False)
        self._theme = theme
        self.curves: Sequence[Plotted] = ()
        self._items: list[_Items] = []
        self._falls: Sequence[tuple[int, Sequence[Fall]]] = ()
        self._marks: list[Any] = []
        self._points: Any = None
        self._was_zoomed = False
        plot: Any = self.getPlotItem()
        plot.hideButtons()
        plot.showGrid(x=False, y=True, alpha=0.6)
        self._box: Any = plot.getViewBox()
        self._box.setMouseMode(_pg.ViewBox.RectMode)
        self._box.setDefaultPadding(0.03)
        self._cross: Any = _pg.InfiniteLine(angle=90, movable=False)
        self._cross.hide()
        plot.addItem(self._cross, ignoreBounds=True)
        self._box.sigXRangeChanged.connect(self._moved)
        self._box.sigResized.connect(self._redraw)
        self._box.sigRangeChanged.connect(self._tell_zoom)
        self.scene().sigMouseMoved.connect(self._point)
        for axis in self._axes.values():
            font = text_font()
            font.setPixelSize(10)
            axis.setStyle(tickFont=font, tickLength=0, tickTextOffset=6, maxTickLevel=0)
            axis.setZValue(-1)  # the grid lies behind the curves
        self._axes["left"].setWidth(NARROWEST)
        theme.changed.connect(self.restyle)
        self.restyle()

    @property
    def is_zoomed(self) -> bool:
        return not all(self._box.autoRangeEnabled())

    @property
    def x_axis(self) -> XAxis:
        return self._axes["bottom"].shows

    @property
    def is_log(self) -> bool:
        return self._axes["left"].is_log

    def restyle(self) -> None:
        self.setBackground(self._theme.colour("panel"))
        self._box.rbScaleBox.setPen(_pg.mkPen(self._theme.colour("accent")))
        self._cross.setPen(_pg.mkPen(self._theme.colour("faint"), width=1))
        for axis in self._axes.values():
            axis.setPen(_pg.mkPen(self._theme.colour("line")))
            axis.setTextPen(_pg.mkPen(self._theme.colour("muted")))
        self._redraw()

    def show_curves(self, curves: Sequence[Plotted], *, x_axis: XAxis = "step", log: bool = False) -> None:
        """Draw these; the order is the order of painting, the last on top."""
        if (x_axis, log) != (self.x_axis, self.is_log):
            # A zoom in other units would show something else.
            self._box.enableAutoRange()
        self._axes["bottom"].shows, self._axes["left"].is_log = x_axis, log
        self.curves = curves
        while len(self._items) > len(curves):
            self._items.pop().remove(self)
        while len(self._items) < len(curves):
            self._items.append(_Items(self))
        self._falls = [(curve.colour, curve.falls()) for curve in curves]
        self._redraw()

    def show_all(self) -> None:
        self._box.enableAutoRange()
        self._redraw()

    def show_range(self, x: Sequence[float], y: Sequence[float]) -> None:
        self._box.setRange(xRange=x, yRange=y, padding=0)

    def show_cross(self, x: float | None) -> None:
        """A line at this x, with the values of the curves there; None takes it away."""
        self._cross.setVisible(x is not None and bool(self.curves))
        if x is None or not self.curves:
            self.hovered.emit("")
            return
        self._cross.setPos(x)
        values = [
            f'<span style="color:{self._theme.curve(curve.colour).name()}">{number(value)}</span>'
            for curve, (value, _) in ((curve, curve.at(x)) for curve in reversed(self.curves))
            if value == value
        ]
        self.hovered.emit(" &nbsp; ".join(values))

    def _moved(self) -> None:
        """Another part is visible; as long as that is all there is, it is drawn already."""
        if self._box.autoRangeEnabled()[0]:
            self._mark_falls()
        else:
            self._redraw()

    def _redraw(self) -> None:
        """Reduce to the pixels of the visible part."""
        low, high = -np.inf, np.inf
        if not self._box.autoRangeEnabled()[0]:
            low, high = self._box.viewRange()[0]
        columns = max(int(self._box.width() * self.devicePixelRatioF()), 50)
        columns = min(columns, max(MOST_POINTS // max(2 * len(self.curves), 1), 50))
        with_raw = len(self.curves) <= MOST_WITH_RAW
        drawn = [curve.drawn(low, high, columns, with_raw=with_raw) for curve in self.curves]
        faint = max(RAW_ALPHA * 2 // max(len(drawn), 2), FAINTEST)
        smooth = len(self.curves) <= MOST_SMOOTH
        is_thick = sum(len(each.line.x) for each in drawn) <= MOST_THICK
        for items, curve, each in zip(self._items, self.curves, drawn, strict=True):
            items.draw(each, self._theme.curve(curve.colour), THICK if is_thick else 1, faint, smooth=smooth)
        self._draw_points(drawn)
        # Now, and not when it is painted, which would then be done twice.
        self._box.updateAutoRange()
        self._mark_falls()

    def _draw_points(self, drawn: Sequence[Drawn]) -> None:
        """Points that no line goes to or from, which would not be seen."""
        x: list[float] = []
        y: list[float] = []
        brushes: list[QColor] = []
        for curve, each in zip(self.curves, drawn, strict=True):
            finite = np.concatenate([[False], np.isfinite(each.line.y), [False]])
            alone = finite[1:-1] & ~finite[:-2] & ~finite[2:]
            x += each.line.x[alone].tolist()
            y += each.line.y[alone].tolist()
            brushes += [self._theme.curve(curve.colour)] * int(alone.sum())
        if self._points is None:
            if not x:
                return
            self._points = _pg.ScatterPlotItem(size=5, pen=None)
            self._points.setZValue(3)
            self.addItem(self._points)
        self._points.setData(x, y, brush=brushes)

    def _mark_falls(self) -> None:
        """n where it falls; of marks that would lie on one another, the last."""
        while self._marks:
            self.removeItem(self._marks.pop())
        low, high = self._box.viewRange()[0]
        for place, (colour, all_falls) in enumerate(self._falls):
            # By turns above and below: groups end at the same step more often than not.
            anchor = (0.5, 1.1) if place % 2 == 0 else (0.5, -0.1)
            falls = [fall for fall in all_falls if low <= fall.x <= high]
            for after, fall in enumerate(falls, start=1):
                if after < len(falls) and falls[after].x - fall.x < NEAR * (high - low):
                    continue
                mark = _pg.TextItem(f"n = {fall.n}", color=self._theme.curve(colour), anchor=anchor)
                font = text_font()
                font.setPixelSize(10)
                mark.setFont(font)
                mark.setPos(fall.x, fall.y)
                mark.setZValue(4)
                self.addItem(mark, ignoreBounds=True)
                self._marks.append(mark)

    def _tell_zoom(self) -> None:
        if self.is_zoomed != self._was_zoomed:
            self._was_zoomed = self.is_zoomed
            self.zoomed.emit(self._was_zoomed)

    def _point(self, position: QPointF) -> None:
        inside = self._box.sceneBoundingRect().contains(position) and bool(self.curves)
        x = float(self._box.mapSceneToView(position).x()) if inside else None
        self.show_cross(x)
        self.pointed.emit(x)

    def leaveEvent(self, event: Any) -> None:
        self.show_cross(None)
        self.pointed.emit(None)
        super().leaveEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        # Without Ctrl the wheel scrolls the page of charts.
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            super().wheelEvent(event)
        else:
            event.ignore()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.show_all()
        event.accept()


class _Items:
    """What is painted of one curve."""

    def __init__(self, chart: ScalarChart) -> None:
        # Not plot(): its items carry a scatter plot each, which takes longer to make than the curve.
        self._band = _pg.PlotCurveItem(pen=None, fillLevel="enclosed")
        self._raw = _pg.PlotCurveItem(antialias=True, connect="finite")
        self._line = _pg.PlotCurveItem(antialias=True, connect="finite")
        for z_value, item in enumerate((self._band, self._raw, self._line)):
            item.setZValue(z_value)
            chart.addItem(item)

    def remove(self, chart: ScalarChart) -> None:
        for item in (self._band, self._raw, self._line):
            chart.removeItem(item)

    def draw(self, drawn: Drawn, colour: QColor, width: float, raw_alpha: int, *, smooth: bool) -> None:
        behind = drawn.each or drawn.behind
        alpha = EACH_ALPHA if drawn.each else raw_alpha
        self._raw.setData(*((behind.x, behind.y) if behind else (_NONE, _NONE)), pen=_pen(colour, 1, alpha))
        self._line.setData(drawn.line.x, drawn.line.y, pen=_pen(colour, width), antialias=smooth)
        if not drawn.band:
            self._band.setData(_NONE, _NONE)
            return
        # Where there is no band it has no width: left out, its neighbours would be joined across the gap.
        bottom, top = (np.where(np.isfinite(edge), edge, drawn.line.y) for edge in drawn.band)
        seen = np.isfinite(bottom) & np.isfinite(top)
        x = drawn.line.x[seen]
        faint = QColor(colour)
        faint.setAlpha(BAND_ALPHA)
        self._band.setData(np.concatenate([x, x[::-1]]), np.concatenate([top[seen], bottom[seen][::-1]]), brush=faint)


def _pen(colour: QColor, width: float, alpha: int = 255) -> QPen:
    made = QColor(colour)
    made.setAlpha(alpha)
    return _pg.mkPen(made, width=width)


def x_text(x: float, axis: XAxis) -> str:
    if axis == "wall":
        return datetime.fromtimestamp(max(x, 0), UTC).astimezone().strftime("%d %b %H:%M:%S").lstrip("0")
    if axis == "value":
        return f"x = {number(x)}"
    return duration(max(x, 0)) if axis == "relative" else f"step {max(x, 0):,.0f}"
