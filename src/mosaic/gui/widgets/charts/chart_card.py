"""A card with the chart of one tag; the chart itself is made when the card is first drawn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QFrame

from mosaic.gui.models.charts.chart_options import XAxis
from mosaic.gui.models.charts.plotted_curve import Plotted
from mosaic.gui.models.shown_text import tip
from mosaic.gui.models.wording import title_of
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import PlainLabel, column, label, row

if TYPE_CHECKING:
    from mosaic.gui.widgets.charts.scalar_chart import ScalarChart

LOWEST = 176


class ChartCard(QFrame):
    """Title, what is special about this chart, the chart, and the values at the cross over it."""

    entered = Signal(object)
    """The mouse is over this card."""
    left = Signal(object)
    """It is not any more, or the card goes away."""
    opened = Signal(str)
    """The title was clicked: show this tag large, or all again."""
    changed = Signal()
    """It was zoomed, drawn or resized."""
    pointed = Signal(object, object)
    """This card, and the x under the mouse or None."""

    def __init__(self, tag: str, theme: Theme) -> None:
        super().__init__()
        self.tag = tag
        self.chart: ScalarChart | None = None
        self.log = self.is_full = False
        self.drawn: object = None
        """What is drawn, by which the caller tells whether it is up to date."""
        self._theme = theme
        self._faults: Sequence[str] = ()
        self.setProperty("card", True)
        title = _Title(title_of(tag))
        title.setToolTip(tip(f"{tag}\nclick: enlarge · drag or Ctrl+wheel: zoom · double click: fit"))
        title.clicked.connect(lambda: self.opened.emit(tag))
        self.remarks = label("", "faint")
        self.remarks.setTextFormat(Qt.TextFormat.RichText)
        self.values = PlainLabel(parent=self)
        self.values.setTextFormat(Qt.TextFormat.RichText)
        self.values.setProperty("readout", True)
        self.values.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.values.hide()
        self._layout = column(self, row(title, self.remarks, 1), 1, margins=(10, 8, 10, 6), spacing=2)
        theme.changed.connect(self._show_remarks)

    @property
    def is_zoomed(self) -> bool:
        return self.chart is not None and self.chart.is_zoomed

    def show_curves(self, curves: Sequence[Plotted], *, x_axis: XAxis, log: bool) -> None:
        if self.chart is None:
            # pyqtgraph takes most of a second to import: not before a chart is needed.
            from mosaic.gui.widgets.charts.scalar_chart import ScalarChart

            self.chart = ScalarChart(self._theme)
            self.chart.hovered.connect(self._show_values)
            self.chart.pointed.connect(self._point)
            self.chart.zoomed.connect(self._show_remarks)
            self._layout.takeAt(1)
            self._layout.addWidget(self.chart, 1)
            self.values.raise_()
        self.log = log
        self._faults = [fault for curve in curves for fault in curve.faults]
        self.chart.show_curves(curves, x_axis=x_axis, log=log)
        self._show_remarks()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.entered.emit(self)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.left.emit(self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.values.hide()
        self.changed.emit()

    def _point(self, x: float | None) -> None:
        self.pointed.emit(self, x)

    def _show_remarks(self) -> None:
        parts = [*(["log"] if self.log else []), *(["zoomed"] if self.is_zoomed else [])]
        if self._faults:
            parts.append(f'<span style="color:{self._theme.tokens.warn}">gaps</span>')
        self.remarks.setText(" · ".join(parts))
        self.remarks.setToolTip(tip("\n".join(self._faults)))
        self.changed.emit()

    def _show_values(self, text: str) -> None:
        # Under the mouse there is the readout with the names.
        if not text or self.underMouse() or self.chart is None:
            self.values.hide()
            return
        self.values.setWordWrap(False)
        self.values.setText(text)
        chart = self.chart.geometry()
        size = self.values.sizeHint()
        if size.width() > (most := chart.width() - 48):
            self.values.setWordWrap(True)
            size = QSize(most, min(self.values.heightForWidth(most), chart.height()))
        self.values.resize(size)
        self.values.move(chart.right() - size.width(), chart.top())
        self.values.show()


class _Title(PlainLabel):
    clicked = Signal()

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.setProperty("heading", True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.clicked.emit()
