"""Heat maps of weights or gradients: time to the right, the value upwards, the brighter the more values lie there.

All parameters of the networks beside one another, or one of them alone.
"""

import math
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from mosaic.gui.models.charts.axis_ticks import clock_text, span_text
from mosaic.gui.models.charts.chart_options import XAxis
from mosaic.gui.models.charts.heat_maps import HeatMap
from mosaic.gui.models.charts.series import Column
from mosaic.gui.models.shown_text import tip
from mosaic.gui.models.wording import number, thousands
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.charts.dot_plot import small_font

LEFT, TOP, BOTTOM, RIGHT, GAP = 42, 15, 15, 6, 8
LEAST = QSize(150, 92)
"""Pixels of one map among others."""
CELLS = 48
"""Upwards."""
STEPS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, 1),
    Qt.Key.Key_Down: (0, -1),
}


class HeatMapView(QWidget):
    """Arrow keys move a cursor over the map, Page Up and Page Down go from map to map, Enter shows one alone or all."""

    hinted = Signal(str)
    """What is shown of how much."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self._theme = theme
        self.maps: Sequence[HeatMap] = ()
        self.alone = ""
        """The parameter that has all the room, if any."""
        self.at = 0
        """The map that has the cursor."""
        self.cursor_cell: tuple[int, int] | None = None
        """Histogram and cell of the cursor."""
        self._x_axis: XAxis = "step"
        self._began = 0.0
        self._first = 0
        """Maps above the view."""
        self._images: dict[tuple[str, int, int], QImage] = {}
        self.setMinimumSize(LEAST)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(name)
        theme.changed.connect(self._forget)

    def show_maps(self, maps: Sequence[HeatMap], *, x_axis: XAxis = "step", began: float = 0.0) -> None:
        self.maps = maps
        self._x_axis, self._began = x_axis, began
        if self.alone not in {one.name for one in maps}:
            self.alone = ""
        self.at = min(self.at, max(len(maps) - 1, 0))
        self.setAccessibleDescription(f"{len(maps)} parameters")
        self._forget()

    def _forget(self) -> None:
        self._images.clear()
        self.update()

    def places(self) -> list[tuple[HeatMap, QRectF]]:
        """The maps in view, and where each is drawn."""
        if self.alone:
            return [(one, self._inner(QRectF(self.rect()))) for one in self.maps if one.name == self.alone]
        columns, lines = self._grid()
        width, height = (self.width() - GAP * (columns - 1)) / columns, (self.height() - GAP * (lines - 1)) / lines
        shown = self.maps[self._first : self._first + columns * lines]
        return [
            (
                one,
                self._inner(
                    QRectF((at % columns) * (width + GAP), (at // columns) * (height + GAP), width, height),
                ),
            )
            for at, one in enumerate(shown)
        ]

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.colour("panel"))
        painter.setFont(small_font())
        for one, place in self.places():
            self._paint_map(painter, one, place)
        shown = len(self.places())
        self.hinted.emit("" if shown >= len(self.maps) or self.alone else f"{shown} of {len(self.maps)}")

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        for one, place in self.places():
            if place.contains(at) and len(one.rows):
                edges = one.x_of(self._x_axis, self._began)
                share = (at.x() - place.left()) / place.width()
                row = int(one.rows_at(np.array([_x_at(edges, share)]), edges)[0])
                cell = min(int((place.bottom() - at.y()) / place.height() * CELLS), CELLS - 1)
                QToolTip.showText(event.globalPosition().toPoint(), tip(self._said(one, row, cell)), self)
                return
        QToolTip.hideText()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        for one, place in self.places():
            if place.adjusted(-LEFT, -TOP, RIGHT, BOTTOM).contains(event.position()):
                self.show_alone("" if self.alone else one.name)
                return

    def wheelEvent(self, event: QWheelEvent) -> None:
        # Without Ctrl the wheel scrolls the page of charts.
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and not self.alone:
            self._scroll(-1 if event.angleDelta().y() > 0 else 1)
        else:
            event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier or not self.maps:
            event.ignore()
        elif key in STEPS:
            self._move_cursor(*STEPS[key])
        elif key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            self._go_to(self.at + (1 if key == Qt.Key.Key_PageDown else -1))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.show_alone("" if self.alone else self.maps[self.at].name)
        else:
            event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def show_alone(self, name: str) -> None:
        self.alone = name
        self._forget()

    def _go_to(self, at: int) -> None:
        self.at = max(0, min(at, len(self.maps) - 1))
        self.cursor_cell = None
        if self.alone:
            self.alone = self.maps[self.at].name
        columns, lines = self._grid()
        if not self._first <= self.at < self._first + columns * lines:
            self._first = max(0, self.at - self.at % columns - (lines - 1) * columns)
        self._forget()
        QToolTip.showText(self.mapToGlobal(QPoint(LEFT, 0)), tip(self.maps[self.at].name), self)

    def _scroll(self, lines: int) -> None:
        columns, high = self._grid()
        most = max(0, -(-len(self.maps) // columns) - high) * columns
        self._first = max(0, min(self._first + lines * columns, most))
        self.update()

    def _move_cursor(self, right: int, up: int) -> None:
        one = self.maps[self.at]
        if not len(one.rows):
            return
        row, cell = self.cursor_cell or (len(one.rows) - 1, CELLS // 2)
        row, cell = max(0, min(row + right, len(one.rows) - 1)), max(0, min(cell + up, CELLS - 1))
        self.cursor_cell = (row, cell)
        for shown, place in self.places():
            if shown is one:
                spot = self._spot(one, place, row, cell).toPoint() + QPoint(8, 8)
                QToolTip.showText(self.mapToGlobal(spot), tip(self._said(one, row, cell)), self)
        self.update()

    def _said(self, one: HeatMap, row: int, cell: int) -> str:
        low, high = one.scale
        step = (high - low) / CELLS
        found = one.cell(row, low + cell * step, low + (cell + 1) * step)
        said = [
            one.name,
            f"step {found.row.global_step:,} · update {found.row.update:,}",
            f"{number(found.low)} to {number(found.high)}: {100 * found.share:.2g} % of all values",
            f"all {found.histogram.count:,} from {number(found.histogram.low)} to {number(found.histogram.high)}",
        ]
        if found.histogram.not_finite:
            said.append(f"{found.histogram.not_finite:,} values are not finite")
        return "\n".join(said)

    def _grid(self) -> tuple[int, int]:
        """Columns and lines of maps: as many as have room, and no more than there are."""
        columns = max(1, min(self.width() // LEAST.width(), len(self.maps)))
        most = max(1, self.height() // LEAST.height())
        lines = max(1, min(most, -(-len(self.maps) // columns)))
        while columns > 1 and (columns - 1) * lines >= len(self.maps):
            columns -= 1
        return columns, lines

    @staticmethod
    def _inner(place: QRectF) -> QRectF:
        return place.adjusted(LEFT, TOP, -RIGHT, -BOTTOM)

    def _spot(self, one: HeatMap, place: QRectF, row: int, cell: int) -> QPointF:
        edges = one.x_of(self._x_axis, self._began)
        first, last = _ends(edges)
        x = (float(edges[row]) - first) / (last - first)
        return QPointF(place.left() + x * place.width(), place.bottom() - (cell + 0.5) / CELLS * place.height())

    def _paint_map(self, painter: QPainter, one: HeatMap, place: QRectF) -> None:
        metrics, has_cursor = painter.fontMetrics(), self.hasFocus() and self.maps[self.at] is one
        painter.setPen(self._theme.colour("accent" if has_cursor else "text"))
        title = metrics.elidedText(one.name, Qt.TextElideMode.ElideLeft, int(place.width() + LEFT))
        painter.drawText(QPointF(place.left() - LEFT + 4, place.top() - 4), title)
        if not len(one.rows) or place.width() < 4 or place.height() < 4:
            return
        edges = one.x_of(self._x_axis, self._began)
        width = max(int(place.width() * self.devicePixelRatioF()), 1)
        key = (one.name, width, len(one.rows))
        image = self._images.get(key)
        if image is None:
            image = self._images[key] = self._image(one, edges, width)
        painter.drawImage(place, image)
        painter.setPen(QPen(self._theme.colour("accent" if has_cursor else "line"), 1))
        painter.drawRect(place)
        painter.setPen(self._theme.colour("muted"))
        low, high = one.scale
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for y, value in ((place.top() + 4, high), (place.bottom() - 4, low)):
            text = metrics.elidedText(thousands(float(f"{value:.2g}")), Qt.TextElideMode.ElideRight, LEFT - 5)
            painter.drawText(QRectF(place.left() - LEFT, y - 7, LEFT - 4, 14), right, text)
        self._paint_x_ends(painter, edges, place)
        if has_cursor and self.cursor_cell is not None:
            spot = self._spot(one, place, *self.cursor_cell)
            painter.setPen(QPen(self._theme.colour("text"), 1.2))
            painter.drawRect(QRectF(spot.x() - 3, spot.y() - 3, 6, 6))

    def _paint_x_ends(self, painter: QPainter, edges: Column, place: QRectF) -> None:
        metrics, (first, last) = painter.fontMetrics(), _ends(edges)
        left, right = self._x_text(first, last - first), self._x_text(last, last - first)
        y = place.bottom() + metrics.ascent() + 2
        width = metrics.horizontalAdvance(right)
        painter.drawText(QPointF(place.right() - width, y), right)
        if metrics.horizontalAdvance(left) + width + GAP < place.width():
            painter.drawText(QPointF(place.left(), y), left)

    def _x_text(self, x: float, span: float) -> str:
        if self._x_axis == "step":
            return thousands(x)
        spacing = 10.0 ** math.floor(math.log10(max(span, 1.0)))
        return clock_text(x, min(spacing, 60)) if self._x_axis == "wall" else span_text(x, min(spacing, 60))

    def _image(self, one: HeatMap, edges: Column, width: int) -> QImage:
        first, last = _ends(edges)
        columns = one.rows_at(np.linspace(first, last, width, endpoint=False), edges)
        chosen, places = np.unique(columns, return_inverse=True)
        shares = one.shares(chosen, CELLS)
        top = shares.max(axis=1, keepdims=True)
        # Each histogram by its own peak, and few values still seen beside many.
        level = np.sqrt(shares / np.where(top > 0, top, 1))
        colours = _colours(self._theme)
        pixels = np.ascontiguousarray(
            colours[(level * (len(colours) - 1)).astype(np.intp)][places].transpose(1, 0, 2)[::-1]
        )
        return QImage(pixels.data, width, CELLS, 3 * width, QImage.Format.Format_RGB888).copy()


def _ends(edges: Column) -> tuple[float, float]:
    """The last histogram is as wide as the one before it."""
    first, last = float(edges[0]), float(edges[-1])
    width = float(edges[-1] - edges[-2]) if len(edges) > 1 else 1.0
    return first, last + (width if width > 0 else 1.0)


def _x_at(edges: Column, share: float) -> float:
    first, last = _ends(edges)
    return first + share * (last - first)


def _colours(theme: Theme) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    """From nothing to the most."""
    stops = [theme.colour("panel"), theme.colour("accent"), theme.colour("warn")]
    parts = np.array([[colour.red(), colour.green(), colour.blue()] for colour in map(QColor, stops)], dtype=np.float64)
    at = np.linspace(0, 1, 256)
    mixed = np.stack([np.interp(at, [0, 0.7, 1], parts[:, channel]) for channel in range(3)], axis=1)
    return mixed.astype(np.uint8)
