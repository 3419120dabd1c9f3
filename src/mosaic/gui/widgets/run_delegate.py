"""A row of the list of runs: state, name, algorithm and environment, last return, its course and the progress."""

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from mosaic.gui.assets import pixmap, text_font
from mosaic.gui.models.runs_model import COLOUR, NOTICES, RECORD
from mosaic.gui.models.wording import name_of, number, summary_of
from mosaic.gui.theme import Theme
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import LIVE

HEIGHT = 58
VALUE_WIDTH = 66
Index = QModelIndex | QPersistentModelIndex


class RunDelegate(QStyledItemDelegate):
    """Paints a RunRecord."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._name, self._value, self._small = text_font(), text_font(), text_font()
        self._name.setWeight(QFont.Weight.DemiBold)
        self._value.setWeight(QFont.Weight.Medium)
        self._value.setPixelSize(12)
        self._small.setPixelSize(11)
        self._name_metrics, self._small_metrics = QFontMetrics(self._name), QFontMetrics(self._small)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: ARG002
        return QSize(200, HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        record: RunRecord = index.data(RECORD)
        view: QRect = getattr(option, "rect")  # noqa: B009 (the stubs do not know the fields of style options)
        state: QStyle.StateFlag = getattr(option, "state")  # noqa: B009
        row = QRectF(view).adjusted(8, 2, -8, -2)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver):
            selected = bool(state & QStyle.StateFlag.State_Selected)
            self._fill(painter, row, self._theme.colour("selected" if selected else "raised"), 7)
        colour: int | None = index.data(COLOUR)
        if colour is not None:
            self._fill(painter, QRectF(row.left(), row.top() + 8, 3, row.height() - 16), self._theme.curve(colour), 1.5)
        dot = QRectF(row.left() + 10, row.top() + 12, 7, 7)
        self._fill(painter, dot, self._theme.state(record.state), 3.5)
        text = QRectF(row.left() + 26, row.top() + 6, row.width() - 26 - VALUE_WIDTH - 18, 20)
        if index.data(NOTICES):
            painter.drawPixmap(
                QPointF(text.right() - 14, text.top() + 3), pixmap(self._theme, "triangle-alert", "warn", 14)
            )
            text.setRight(text.right() - 18)
        self._text(painter, text, self._name, "text", self._elided(self._name_metrics, name_of(record), text))
        below = text.translated(0, 18)
        self._text(painter, below, self._small, "muted", self._elided(self._small_metrics, summary_of(record), below))
        self._right(painter, row, record)
        if record.state in LIVE and record.total_timesteps:
            self._progress(painter, QRectF(text.left(), row.bottom() - 6, text.width(), 3), record)
        painter.restore()

    def _right(self, painter: QPainter, row: QRectF, record: RunRecord) -> None:
        place = QRectF(row.right() - VALUE_WIDTH - 10, row.top() + 6, VALUE_WIDTH, 20)
        if record.last_return is None:
            self._text(painter, place, self._small, "faint", record.state.value, right=True)
            return
        self._text(painter, place, self._value, "text", number(record.last_return), right=True)
        self._sparkline(painter, place.translated(0, 22).adjusted(4, 0, 0, -4), record.sparkline, record)

    def _sparkline(self, painter: QPainter, place: QRectF, values: Sequence[float], record: RunRecord) -> None:
        finite = [value for value in values if value - value == 0]
        if len(finite) < 2:
            return
        low, span = min(finite), (max(finite) - min(finite)) or 1.0
        step = place.width() / (len(finite) - 1)
        line = QPolygonF(
            [
                QPointF(place.left() + index * step, place.bottom() - (value - low) / span * place.height())
                for index, value in enumerate(finite)
            ]
        )
        painter.setPen(QPen(self._theme.state(record.state), 1.2))
        painter.drawPolyline(line)

    def _progress(self, painter: QPainter, place: QRectF, record: RunRecord) -> None:
        self._fill(painter, place, self._theme.colour("line"), 1.5)
        done = min(record.global_step / record.total_timesteps, 1.0)
        self._fill(
            painter,
            QRectF(place.topLeft(), place.size()).adjusted(0, 0, (done - 1) * place.width(), 0),
            self._theme.colour("accent"),
            1.5,
        )

    def _text(
        self, painter: QPainter, place: QRectF, font: QFont, token: str, text: str, *, right: bool = False
    ) -> None:
        painter.setFont(font)
        painter.setPen(self._theme.colour(token))
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        painter.drawText(place, side | Qt.AlignmentFlag.AlignVCenter, text)

    @staticmethod
    def _elided(metrics: QFontMetrics, text: str, place: QRectF) -> str:
        return metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(place.width()))

    @staticmethod
    def _fill(painter: QPainter, place: QRectF, colour: QColor, radius: float) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawRoundedRect(place, radius, radius)
        painter.setBrush(Qt.BrushStyle.NoBrush)
