"""A row of the list of runs: state, name, algorithm and environment, last return, its course and the progress.

The heading of a group is as high as a run: rows of one height are what makes ten thousand of them cheap.
"""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen, QPixmap, QPolygonF
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from mosaic.gui.assets import pixmap, text_font
from mosaic.gui.models.runs.arranged_runs import GROUP, IS_MEMBER
from mosaic.gui.models.runs.run_order import Group
from mosaic.gui.models.runs.runs_model import COLOUR, NOTICES, RECORD, WHY_QUEUED
from mosaic.gui.models.wording import name_of, number, summary_of
from mosaic.gui.theme import Theme
from mosaic.spec.run_record import RunRecord, is_pinned
from mosaic.spec.states import LIVE, RunState

HEIGHT = 58
INDENT = 12
CHEVRON = 34
"""Pixels at the left of a heading in which a click opens or closes its group."""
VALUE_WIDTH = 66
GAP = 8
"""Pixels between the name of a run and what stands beside it."""
LEAST_CURVE, MOST_CURVE = 36.0, 62.0
"""Pixels; a curve that has less says nothing."""
END = Qt.TextElideMode.ElideRight
Index = QModelIndex | QPersistentModelIndex


def reason_that_fits(why: str, fits: Callable[[str], bool]) -> tuple[str, str]:
    """What of the reason stands below the name of a queued run, and what beside it, where runs have their return.

    The wait moves up first; of the rest the position matters more than the slots, which are the same for all.
    """
    *rest, last = why.split(", ")
    if fits(why) or not rest:
        return why, ""
    wait = "" if last.startswith("position") else last
    below = ", ".join(rest) if wait else why
    return below if fits(below) else below.split(", ")[-1], wait


class RunDelegate(QStyledItemDelegate):
    """Paints a RunRecord, or a Group."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._name, self._value, self._small = text_font(), text_font(), text_font()
        self._name.setWeight(QFont.Weight.DemiBold)
        self._value.setWeight(QFont.Weight.Medium)
        self._value.setPixelSize(12)
        self._small.setPixelSize(11)
        self._name_metrics, self._small_metrics = QFontMetrics(self._name), QFontMetrics(self._small)
        self._value_metrics = QFontMetrics(self._value)
        self._icons: dict[tuple[str, str], QPixmap] = {}
        theme.changed.connect(self._icons.clear)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: ARG002
        return QSize(200, HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        view: QRect = getattr(option, "rect")  # noqa: B009 (the stubs do not know the fields of style options)
        state: QStyle.StateFlag = getattr(option, "state")  # noqa: B009
        row = QRectF(view).adjusted(8, 2, -8, -2)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver):
            selected = bool(state & QStyle.StateFlag.State_Selected)
            self._fill(painter, row, self._theme.colour("selected" if selected else "raised"), 7)
        group: Group | None = index.data(GROUP)
        if group is not None:
            self._heading(painter, row, group)
        else:
            if index.data(IS_MEMBER):
                row.setLeft(row.left() + INDENT)
            self._run(painter, row, index)
        painter.restore()

    def _heading(self, painter: QPainter, row: QRectF, group: Group) -> None:
        icon = "chevron-right" if group.is_collapsed else "chevron-down"
        painter.drawPixmap(QPointF(row.left() + 5, row.top() + 8), self._icon(icon, "muted"))
        beside = 0 if group.mean_return is None else VALUE_WIDTH + GAP
        text = QRectF(row.left() + 26, row.top() + 6, row.width() - 26 - 10 - beside, 20)
        self._text(painter, text, self._name, "text", self._elided(self._name_metrics, group.title, text))
        count = len(group.run_ids)
        said = f"{count:,} run{'' if count == 1 else 's'}" + (f" · {group.live:,} live" if group.live else "")
        self._text(painter, text.translated(0, 18), self._small, "muted", said)
        if group.mean_return is not None:
            place = QRectF(row.right() - VALUE_WIDTH - 10, row.top() + 6, VALUE_WIDTH, 20)
            self._text(painter, place, self._value, "text", number(group.mean_return), right=True)
            self._text(painter, place.translated(0, 18), self._small, "muted", f"mean, n = {group.n}", right=True)

    def _run(self, painter: QPainter, row: QRectF, index: Index) -> None:
        record: RunRecord = index.data(RECORD)
        colour: int | None = index.data(COLOUR)
        if colour is not None:
            self._fill(painter, QRectF(row.left(), row.top() + 8, 3, row.height() - 16), self._theme.curve(colour), 1.5)
        dot = QRectF(row.left() + 10, row.top() + 12, 7, 7)
        self._dot(painter, dot, record.state)
        text = QRectF(row.left() + 26, row.top() + 6, row.width() - 26 - VALUE_WIDTH - 18, 20)
        room = row.right() - 10 - text.left() - self._small_metrics.horizontalAdvance(f"{record.state.value} · ")
        why, wait = reason_that_fits(
            index.data(WHY_QUEUED) or "", lambda said: self._small_metrics.horizontalAdvance(said) <= room
        )
        value = "" if record.last_return is None else number(record.last_return)
        beside, metrics, font = (
            (wait, self._small_metrics, self._small) if wait else (value, self._value_metrics, self._value)
        )
        name = QRectF(text)
        name.setRight(row.right() - 10 - (metrics.horizontalAdvance(beside) + GAP if beside else 0))
        if beside:
            place = QRectF(name.right(), text.top(), row.right() - 10 - name.right(), text.height())
            self._text(painter, place, font, "muted" if wait else "text", beside, right=True)
        if index.data(NOTICES):
            painter.drawPixmap(QPointF(name.right() - 14, text.top() + 3), self._icon("triangle-alert", "warn", 14))
            name.setRight(name.right() - 18)
        if is_pinned(record):
            painter.drawPixmap(QPointF(name.left() - 2, name.top() + 4), self._icon("pin", "muted", 13))
            name.setLeft(name.left() + 15)
        self._text(painter, name, self._name, "text", self._elided(self._name_metrics, name_of(record), name))
        below = text.translated(0, 18)
        below.setRight(row.right() - 10)
        left = self._below(painter, below, record, why)
        if record.last_return is not None and not why and left >= LEAST_CURVE:
            width = min(left, MOST_CURVE)
            self._sparkline(
                painter, QRectF(below.right() - width, below.top() + 4, width, 16), record.sparkline, record
            )
        if record.state in LIVE and record.total_timesteps:
            self._progress(painter, QRectF(text.left(), row.bottom() - 6, text.width(), 3), record)

    def _dot(self, painter: QPainter, place: QRectF, state: RunState) -> None:
        """A ring where nothing came of it: its grey is that of the queue."""
        if state is RunState.CANCELLED:
            painter.setPen(QPen(self._theme.state(state), 1.4))
            painter.drawEllipse(place.adjusted(0.7, 0.7, -0.7, -0.7))
        else:
            self._fill(painter, place, self._theme.state(state), 3.5)

    def _below(self, painter: QPainter, place: QRectF, record: RunRecord, why: str) -> float:
        """The state in a word, then what a queued run waits for, or what any other is; how many pixels are left.

        In a narrow list algorithm and environment are read before a curve of a few pixels.
        """
        word = record.state.value
        painter.setFont(self._small)
        painter.setPen(self._theme.state(record.state))
        painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, word)
        rest = QRectF(place)
        rest.setLeft(place.left() + self._small_metrics.horizontalAdvance(word))
        text = f" · {why or summary_of(record)}"
        self._text(painter, rest, self._small, "muted", self._small_metrics.elidedText(text, END, int(rest.width())))
        return rest.width() - self._small_metrics.horizontalAdvance(text) - GAP

    def _icon(self, name: str, token: str, size: int = 16) -> QPixmap:
        """Rendered once: a list paints it many times."""
        if (name, token) not in self._icons:
            self._icons[name, token] = pixmap(self._theme, name, token, size)
        return self._icons[name, token]

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
        # In the middle, because what tells two runs apart is often the seed at the end.
        return metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, int(place.width()))

    @staticmethod
    def _fill(painter: QPainter, place: QRectF, colour: QColor, radius: float) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawRoundedRect(place, radius, radius)
        painter.setBrush(Qt.BrushStyle.NoBrush)
