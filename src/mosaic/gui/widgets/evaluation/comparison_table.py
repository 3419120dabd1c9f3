"""Evaluations beside each other: a line each, and what it returns more than the first one on the same episodes."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap, QResizeEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeView

from mosaic.gui.models.evaluation.evaluations import Assessed
from mosaic.gui.models.shown_text import tip
from mosaic.gui.models.wording import number
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.column_lists import RIGHT
from mosaic.spec.return_statistics import Interval
from mosaic.statistics.enough_seeds import remark, trust

COLUMNS = ("Policy", "Episodes", "Mean ± std", "Median", "IQM [95 %]", "Difference [95 %]", "Better in")
DOT = 10
NARROWEST = 56
ROOMY = 780
"""Pixels below which the median gives its place to the names."""


class ComparisonTable(QTreeView):
    """The first line is the reference."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._assessed: Sequence[Assessed] = ()
        self._model = QStandardItemModel(0, len(COLUMNS), self)
        self._model.setHorizontalHeaderLabels(list(COLUMNS))
        self.setModel(self._model)
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName("Comparison")
        header = self.header()
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(NARROWEST)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for place in range(1, len(COLUMNS)):
            self._model.horizontalHeaderItem(place).setTextAlignment(RIGHT)
        theme.changed.connect(self._fill)

    def show_assessed(self, assessed: Sequence[Assessed]) -> None:
        self._assessed = assessed
        self._fill()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.setColumnHidden(COLUMNS.index("Median"), self.width() < ROOMY)

    def texts(self) -> list[list[str]]:
        """What is shown, line by line."""
        rows, columns = range(self._model.rowCount()), range(self._model.columnCount())
        return [[self._model.item(row, column).text() for column in columns] for row in rows]

    def _fill(self) -> None:
        self._model.removeRows(0, self._model.rowCount())
        for one in self._assessed:
            whole = one.played.name
            name = QStandardItem(_dot(self._theme.curve(one.played.colour)), whole.removesuffix(", evaluated"))
            name.setToolTip(tip(whole))
            about = f"on the {one.pair.episodes:,} episodes that both have played" if one.pair else one.why_not
            if said := remark(len(one.played.returns), "episode"):
                about = "; ".join(filter(None, [about, said]))
            self._model.appendRow([name, *(_cell(text, about) for text in _texts(one))])


def _texts(one: Assessed) -> list[str]:
    pair = one.pair
    return [
        f"{len(one.played.returns):,}",
        f"{number(one.mean)} ± {number(one.std)}",
        number(one.median),
        _interval(one.iqm, len(one.played.returns)),
        _interval(pair.difference, pair.episodes, signed=True) if pair else one.why_not or "reference",
        f"{pair.better:.0%}" if pair else "",
    ]


def _interval(found: Interval, n: int, *, signed: bool = False) -> str:
    value = f"{'+' if signed and found.value > 0 else ''}{number(found.value)}"
    if not found.is_known:
        return value
    rough = " rough" if trust(n) == "rough" else ""
    return f"{value} [{number(found.low)}, {number(found.high)}]{rough}"


def _cell(text: str, about: str) -> QStandardItem:
    made = QStandardItem(text)
    made.setTextAlignment(RIGHT)
    made.setToolTip(tip(about))
    return made


def _dot(colour: QColor) -> QIcon:
    image = QPixmap(2 * DOT, 2 * DOT)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setBrush(colour)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.drawEllipse(3, 3, 2 * DOT - 6, 2 * DOT - 6)
    painter.end()
    return QIcon(image)
