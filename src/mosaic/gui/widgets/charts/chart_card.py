"""A card with one chart: title, grip, and what is drawn in it; the chart itself is made when it is first drawn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QEnterEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QApplication, QWidget

from mosaic.gui.models.charts.chart_layout import spec_of
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import Card, PlainLabel, column, label, row

if TYPE_CHECKING:
    from mosaic.gui.widgets.charts.scalar_chart import ScalarChart

LOWEST = 134
GRIP = 14
"""Pixels of the corner by which a card is resized."""


class ChartCard(Card):
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
    dragged = Signal(object, QPoint)
    """The title is dragged; where the mouse is on the screen."""
    stretched = Signal(object, QPoint)
    """The corner is dragged."""
    focused = Signal(object)
    pressed = Signal(object, object)
    """A key; the event is ignored where it means nothing here."""
    menu_asked = Signal(object, QPoint)
    """Where on the screen."""

    def __init__(self, tag: str, theme: Theme) -> None:
        super().__init__()
        self.tag = tag
        self.spec = spec_of(tag)
        self.chart: ScalarChart | None = None
        self.body: QWidget | None = None
        """What a card without curves shows."""
        self.log = self.is_full = False
        self.drawn: object = None
        """What is drawn, by which the caller tells whether it is up to date."""
        self._theme = theme
        self._faults: Sequence[str] = ()
        self.setAccessibleName(f"Chart: {self.spec.title}")
        title = _Title(self.spec.title)
        title.setToolTip(tip(f"{self.spec.about}\nclick: enlarge · drag: move · right click: more"))
        title.clicked.connect(lambda: self.opened.emit(tag))
        title.dragged.connect(self._drag)
        self._grip = _Grip(theme, self)
        self._grip.dragged.connect(self._stretch)
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

    def chart_of_curves(self) -> "ScalarChart":
        """Made when it is first needed."""
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
            self._grip.raise_()
        return self.chart

    def show_body(self, body: QWidget) -> None:
        """A plot, a heat map, or a sentence, in the place of curves."""
        if self.body is not body:
            self.body = body
            self._layout.takeAt(1)
            self._layout.addWidget(body, 1)
            self._grip.raise_()

    def remark(self, faults: Sequence[str], *, log: bool = False) -> None:
        """What cannot be shown, in sentences."""
        self.log, self._faults = log, faults
        self._show_remarks()

    def _drag(self, at: QPoint) -> None:
        self.dragged.emit(self, at)

    def _stretch(self, at: QPoint) -> None:
        self.stretched.emit(self, at)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focused.emit(self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        event.ignore()
        self.pressed.emit(self, event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        is_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        self.menu_asked.emit(self, self.mapToGlobal(QPoint(12, 28)) if is_key else event.globalPos())

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.entered.emit(self)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.left.emit(self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.values.hide()
        self._grip.setGeometry(self.width() - GRIP, self.height() - GRIP, GRIP, GRIP)
        self.changed.emit()

    def _point(self, x: float | None) -> None:
        self.pointed.emit(self, x)

    def _show_remarks(self) -> None:
        parts = [*(["log"] if self.log else []), *(["zoomed"] if self.is_zoomed else [])]
        if self._faults:
            said = "gaps" if self.spec.kind == "curve" else "not all"
            parts.append(f'<span style="color:{self._theme.tokens.warn}">{said}</span>')
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
    """A click opens, a drag moves."""

    clicked = Signal()
    dragged = Signal(QPoint)

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.setProperty("heading", True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

        self._pressed: QPoint | None = None
        self._is_dragged = False

    def minimumSizeHint(self) -> QSize:
        """A narrow card cuts it off, with dots."""
        return QSize(24, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        shown = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed, self._is_dragged = event.globalPosition().toPoint(), False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            return
        at = event.globalPosition().toPoint()
        if not self._is_dragged and (at - self._pressed).manhattanLength() < QApplication.startDragDistance():
            return
        self._is_dragged = True
        self.dragged.emit(at)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        is_click = self._pressed is not None and not self._is_dragged
        self._pressed = None
        inside = self.rect().contains(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and is_click and inside:
            self.clicked.emit()


class _Grip(QWidget):
    """The corner by which a card is made larger."""

    dragged = Signal(QPoint)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setCursor(Qt.CursorShape.SizeFDiagCursor)
        self.setToolTip("Drag to resize this chart")

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.dragged.emit(event.globalPosition().toPoint())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.colour("faint"), 1))
        for inset in (4, 8):
            painter.drawLine(GRIP - 3, inset, inset, GRIP - 3)
