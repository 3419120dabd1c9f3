"""The one widget that knows pyqtgraph: curves of one tag, raw behind and smoothed in front, as many points as pixels.

pyqtgraph has no types: what comes out of it is Any, and stays in this file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyqtgraph
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPen, QWheelEvent

from mosaic.gui.assets import text_font
from mosaic.gui.models.series import Column, reduced
from mosaic.gui.models.wording import duration, number, thousands
from mosaic.gui.theme import Theme

RAW_ALPHA = 42
_NONE: Column = np.empty(0)

_pg: Any = cast(Any, pyqtgraph)


@dataclass(frozen=True)
class Curve:
    """One run in one chart."""

    name: str
    colour: QColor
    x: Column
    raw: Column
    smooth: Column


class _Axis(_pg.AxisItem):
    """500, 20k, 1.5M instead of scientific notation and scaled units."""

    is_time = False

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:  # noqa: ARG002
        return [duration(value) if self.is_time else thousands(round(value / spacing) * spacing) for value in values]


class ScalarChart(_pg.PlotWidget):
    """Drag to zoom, Ctrl and wheel to zoom, double click to see all. A zoom stays while data arrives."""

    hovered = Signal(str)
    """Values under the mouse as rich text; empty when it leaves."""

    def __init__(self, theme: Theme) -> None:
        self._axes = {side: _Axis(orientation=side) for side in ("bottom", "left")}
        super().__init__(axisItems=self._axes)
        self._theme = theme
        self._curves: Sequence[Curve] = ()
        self._items: list[tuple[Any, Any]] = []
        self._redrawing = False
        plot: Any = self.getPlotItem()
        plot.hideButtons()
        plot.setMenuEnabled(False)
        plot.showGrid(x=False, y=True, alpha=0.6)
        self._box: Any = plot.getViewBox()
        self._box.setMouseMode(_pg.ViewBox.RectMode)
        self._box.setDefaultPadding(0.03)
        self._line: Any = _pg.InfiniteLine(angle=90, movable=False)
        self._line.hide()
        plot.addItem(self._line, ignoreBounds=True)
        self._box.sigXRangeChanged.connect(self._redraw)
        self.scene().sigMouseMoved.connect(self._hover)
        for axis in self._axes.values():
            font = text_font()
            font.setPixelSize(10)
            axis.setStyle(tickFont=font, tickLength=0, tickTextOffset=6, maxTickLevel=0)
        self._axes["left"].setWidth(42)
        theme.changed.connect(self.restyle)
        self.restyle()

    def restyle(self) -> None:
        self.setBackground(self._theme.colour("panel"))
        self._box.rbScaleBox.setPen(_pg.mkPen(self._theme.colour("accent")))
        self._line.setPen(_pg.mkPen(self._theme.colour("faint"), width=1))
        for axis in self._axes.values():
            axis.setPen(_pg.mkPen(self._theme.colour("line")))
            axis.setTextPen(_pg.mkPen(self._theme.colour("muted")))

    def show_curves(self, curves: Sequence[Curve], *, time_axis: bool = False) -> None:
        """Draw these; the order is the order of painting, the last on top."""
        self._axes["bottom"].is_time = time_axis
        self._curves = curves
        while len(self._items) > len(curves):
            for item in self._items.pop():
                self.removeItem(item)
        while len(self._items) < len(curves):
            # Not plot(): its items carry a scatter plot each, which takes longer to make than the curve.
            raw, smooth = _pg.PlotCurveItem(antialias=True), _pg.PlotCurveItem(antialias=True)
            for z_value, item in enumerate((raw, smooth), start=1):
                item.setZValue(z_value)
                self.addItem(item)
            self._items.append((raw, smooth))
        for (raw, smooth), curve in zip(self._items, curves, strict=True):
            faint = QColor(curve.colour)
            faint.setAlpha(RAW_ALPHA)
            raw.setPen(_pen(faint))
            smooth.setPen(_pen(curve.colour))
        self._redraw()

    def show_all(self) -> None:
        self._box.enableAutoRange()
        self._redraw()

    def _redraw(self) -> None:
        """Reduce to the pixels of the visible part; setting data may change the range, which calls this again."""
        if self._redrawing:
            return
        self._redrawing = True
        low, high = -np.inf, np.inf
        if not self._box.autoRangeEnabled()[0]:
            low, high = self._box.viewRange()[0]
        columns = max(int(self._box.width()), 50)
        for (raw, smooth), curve in zip(self._items, self._curves, strict=True):
            differs = curve.raw is not curve.smooth
            behind = reduced(curve.x, curve.raw, low, high, columns) if differs else None
            front = reduced(curve.x, curve.smooth, low, high, columns)
            raw.setData(*((behind.x, behind.y) if behind else (_NONE, _NONE)))
            smooth.setData(front.x, front.y)
        self._redrawing = False

    def _hover(self, position: QPointF) -> None:
        inside = self._box.sceneBoundingRect().contains(position) and any(len(curve.x) for curve in self._curves)
        self._line.setVisible(inside)
        if not inside:
            self.hovered.emit("")
            return
        x: float = self._box.mapSceneToView(position).x()
        self._line.setPos(x)
        at = duration(max(x, 0)) if self._axes["bottom"].is_time else f"step {max(x, 0):,.0f}"
        values = [
            f'<span style="color:{curve.colour.name()}">{number(float(curve.smooth[_nearest(curve.x, x)]))}</span>'
            for curve in self._curves
            if len(curve.x)
        ]
        self.hovered.emit(" &nbsp; ".join([at, *values]))

    def leaveEvent(self, event: Any) -> None:
        self._line.hide()
        self.hovered.emit("")
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


def _pen(colour: QColor) -> QPen:
    # Width 1: the rasteriser has a fast path for it and for nothing wider.
    return _pg.mkPen(colour, width=1)


def _nearest(x: Column, value: float) -> int:
    place = int(np.searchsorted(x, value))
    if place == 0:
        return 0
    if place == len(x):
        return place - 1
    return place if x[place] - value < value - x[place - 1] else place - 1
