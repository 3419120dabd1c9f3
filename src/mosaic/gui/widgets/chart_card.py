"""A card with the chart of one tag; the chart itself is made when the card is first seen."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout

from mosaic.gui.models.wording import title_of
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.parts import label, row

if TYPE_CHECKING:
    from mosaic.gui.widgets.scalar_chart import Curve, ScalarChart

LOWEST = 176


class ChartCard(QFrame):
    """Title, values under the mouse, chart."""

    def __init__(self, tag: str, theme: Theme) -> None:
        super().__init__()
        self.tag = tag
        self.chart: ScalarChart | None = None
        self._theme = theme
        self.setProperty("card", True)
        self.setMinimumHeight(LOWEST)
        title = label(title_of(tag), "heading")
        title.setToolTip(f"{tag}\ndrag or Ctrl+wheel: zoom · double click: see all")
        self._values = QLabel()
        self._values.setTextFormat(Qt.TextFormat.RichText)
        self._values.setProperty("faint", True)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(10, 8, 10, 6)
        self._layout.setSpacing(2)
        self._layout.addLayout(row(title, 1, self._values))
        self._layout.addStretch(1)

    @property
    def is_seen(self) -> bool:
        return not self.visibleRegion().isEmpty()

    def show_curves(self, curves: "Sequence[Curve]", *, time_axis: bool) -> None:
        if self.chart is None:
            # pyqtgraph takes most of a second to import: not before a chart is needed.
            from mosaic.gui.widgets.scalar_chart import ScalarChart

            self.chart = ScalarChart(self._theme)
            self.chart.hovered.connect(self._values.setText)
            self._layout.takeAt(1)
            self._layout.addWidget(self.chart, 1)
        self.chart.show_curves(curves, time_axis=time_axis)
