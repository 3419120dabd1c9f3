"""The distribution of returns: bars of all evaluations over each other, and their means as lines."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QToolTip, QWidget

from mosaic.gui.assets import text_font
from mosaic.gui.models.evaluation.return_histogram import Histogram
from mosaic.gui.models.wording import number, thousands
from mosaic.gui.theme import Theme

LEFT, BOTTOM, TOP, RIGHT = 40, 20, 8, 10
ALPHA = 120
TICK_PIXELS = 80


class HistogramView(QWidget):
    """Painted by hand: bars that lie over each other must be seen through."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.content: Histogram | None = None
        self.setMinimumSize(QSize(160, 110))
        self.setMouseTracking(True)
        self.setAccessibleName("Distribution of the return")
        theme.changed.connect(self.update)

    def show_histogram(self, content: Histogram) -> None:
        self.content = content
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.colour("panel"))
        content = self.content
        if content is None or not content.bars:
            return
        font = QFont(text_font())
        font.setPixelSize(10)
        painter.setFont(font)
        self._paint_grid(painter, content)
        for bars in content.bars:
            self._paint_bars(painter, content, self._theme.curve(bars.colour), bars.shares.tolist())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        plot = self._plot()
        for bars in content.bars:
            painter.setPen(QPen(self._theme.curve(bars.colour), 1.6, Qt.PenStyle.DashLine))
            x = self._x(content, bars.mean)
            painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        content, plot = self.content, self._plot()
        at = event.position()
        if content is None or not content.bars or not plot.contains(at):
            QToolTip.hideText()
            return
        place = int((at.x() - plot.left()) / plot.width() * (len(content.edges) - 1))
        low, high = content.edges[place], content.edges[place + 1]
        lines = [f"{number(float(low))} to {number(float(high))}"]
        lines += [f"{bars.name}: {bars.shares[place]:.1%}" for bars in content.bars]
        QToolTip.showText(event.globalPosition().toPoint(), "\n".join(lines), self)

    def _plot(self) -> QRectF:
        return QRectF(LEFT, TOP, max(self.width() - LEFT - RIGHT, 1), max(self.height() - TOP - BOTTOM, 1))

    def _x(self, content: Histogram, value: float) -> float:
        plot, low, high = self._plot(), float(content.edges[0]), float(content.edges[-1])
        return plot.left() + (value - low) / (high - low) * plot.width()

    def _paint_grid(self, painter: QPainter, content: Histogram) -> None:
        plot = self._plot()
        line, muted = self._theme.colour("line"), self._theme.colour("muted")
        for share in (0.0, 0.5, 1.0):
            y = plot.bottom() - share * plot.height()
            painter.setPen(line)
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
            painter.setPen(muted)
            room = QRectF(0, y - 8, LEFT - 6, 16)
            painter.drawText(
                room, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, f"{share * content.highest:.0%}"
            )
        ticks = max(2, int(plot.width() // TICK_PIXELS))
        low, high = float(content.edges[0]), float(content.edges[-1])
        for place in range(ticks + 1):
            value = low + (high - low) * place / ticks
            side = Qt.AlignmentFlag.AlignHCenter
            x = self._x(content, value)
            room = QRectF(x - 40, plot.bottom() + 3, 80, BOTTOM - 3)
            if place == ticks:
                side, room = Qt.AlignmentFlag.AlignRight, QRectF(x - 80 + RIGHT, room.top(), 80, room.height())
            painter.drawText(room, side | Qt.AlignmentFlag.AlignTop, thousands(float(f"{value:.3g}")))

    def _paint_bars(self, painter: QPainter, content: Histogram, colour: QColor, shares: list[float]) -> None:
        plot = self._plot()
        fill = QColor(colour)
        fill.setAlpha(ALPHA if len(content.bars) > 1 else 200)
        width = plot.width() / max(len(shares), 1)
        for place, share in enumerate(shares):
            if share:
                height = share / content.highest * plot.height()
                bar = QRectF(plot.left() + place * width + 0.5, plot.bottom() - height, max(width - 1, 1), height)
                painter.fillRect(bar, fill)
