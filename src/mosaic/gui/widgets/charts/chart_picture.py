"""A chart as a picture for a paper or a page: title, legend, named axis, the same size whatever the window has."""

from collections.abc import Sequence

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QImage, QPainter, QPen
from PySide6.QtSvg import QSvgGenerator

from mosaic.gui.assets import text_font
from mosaic.gui.models.charts.plotted_curve import Plotted
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.charts.chart_controls import X_AXES
from mosaic.gui.widgets.charts.scalar_chart import ScalarChart

WIDTH, HEIGHT = 960, 600
PNG_SCALE = 2
MARGIN = 20
LINE = 20
"""Pixels of a line of the legend."""


def as_png(shown: ScalarChart, title: str, theme: Theme) -> QImage:
    image = QImage(WIDTH * PNG_SCALE, HEIGHT * PNG_SCALE, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(PNG_SCALE)
    painter = QPainter(image)
    _paint(painter, shown, title, theme)
    painter.end()
    return image


def as_svg(shown: ScalarChart, title: str, theme: Theme) -> bytes:
    content = QByteArray()
    buffer = QBuffer(content)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setTitle(title)
    generator.setSize(QSize(WIDTH, HEIGHT))
    generator.setViewBox(QRect(0, 0, WIDTH, HEIGHT))
    painter = QPainter(generator)
    _paint(painter, shown, title, theme)
    painter.end()
    return bytes(content.data())


def _paint(painter: QPainter, shown: ScalarChart, title: str, theme: Theme) -> None:
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillRect(QRectF(0, 0, WIDTH, HEIGHT), theme.colour("panel"))
    font = text_font()
    font.setPixelSize(17)
    font.setWeight(QFont.Weight.DemiBold)
    painter.setFont(font)
    painter.setPen(theme.colour("text"))
    painter.drawText(QPointF(MARGIN, MARGIN + 14), title)
    top = _paint_legend(painter, shown.curves, theme, MARGIN + 26)
    chart = _copy_of(shown, theme, QSize(WIDTH - 2 * MARGIN, HEIGHT - top - MARGIN - LINE))
    chart.render(painter, QRectF(MARGIN, top, chart.width(), chart.height()), chart.rect())
    painter.setPen(theme.colour("muted"))
    # Of a tag against another the title says what x is.
    x_name = X_AXES[shown.x_axis][1] if shown.x_axis in X_AXES else ""
    below = QRectF(MARGIN, HEIGHT - MARGIN - LINE, WIDTH - 2 * MARGIN, LINE)
    painter.drawText(below, Qt.AlignmentFlag.AlignCenter, x_name)
    chart.hide()
    chart.deleteLater()


def _paint_legend(painter: QPainter, curves: Sequence[Plotted], theme: Theme, top: int) -> int:
    """Where it ends."""
    font = text_font()
    font.setPixelSize(12)
    painter.setFont(font)
    metrics = QFontMetricsF(font)
    x, y = float(MARGIN), top
    for curve in reversed(curves):
        text = f"{curve.name}  ({curve.note})" if curve.note else curve.name
        width = 30 + metrics.horizontalAdvance(text) + 22
        if x > MARGIN and x + width > WIDTH - MARGIN:
            x, y = float(MARGIN), y + LINE
        painter.setPen(QPen(theme.curve(curve.colour), 2))
        painter.drawLine(QPointF(x, y + LINE / 2), QPointF(x + 22, y + LINE / 2))
        painter.setPen(theme.colour("text"))
        painter.drawText(QPointF(x + 30, y + LINE / 2 + metrics.capHeight() / 2), text)
        x += width
    return y + LINE + 8


def _copy_of(shown: ScalarChart, theme: Theme, size: QSize) -> ScalarChart:
    chart = ScalarChart(theme)
    chart.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
    chart.resize(size)
    chart.show()  # which lays it out; on no screen
    chart.show_curves(shown.curves, x_axis=shown.x_axis, log=shown.is_log)
    if shown.is_zoomed:
        chart.show_range(*shown.viewRange())
    return chart
