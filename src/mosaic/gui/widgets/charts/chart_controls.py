"""What the user chooses for all charts: the x axis, how seeds are drawn, a logarithmic y, the smoothing, a filter."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import cast

from PySide6.QtCore import QSettings, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSlider, QWidget

from mosaic.gui.models.charts.chart_options import SMOOTHING, ChartOptions, Seeds, XAxis
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.choice_chip import ChoiceChip
from mosaic.gui.widgets.labels_and_buttons import chip_button, label, row, search_field
from mosaic.gui.widgets.tool_button import IconTool

SEARCHED, BESIDE_SEARCHED = "Filter charts…", 60
MOST_SMOOTHING = 100
WIDE = 700
"""Pixels from which on there is room for the word."""
X_AXES: dict[XAxis, tuple[str, str]] = {
    "step": ("step", "Environment steps"),
    "relative": ("relative time", "Time since the run began"),
    "wall": ("wall time", "Time of day"),
}
SEEDS: dict[Seeds, tuple[str, str]] = {
    "each": ("each", "Each seed as a curve of its own"),
    "mean": (
        "mean ± std",
        "Mean of the seeds of a group, with a band of one standard deviation; below 5 seeds each seed, without a band",
    ),
    "IQM": (
        "IQM, 95 % CI",
        "Interquartile mean of the seeds, with a 95 % bootstrap interval; below 5 seeds each seed, without a band",
    ),
}


class ChartControls(QWidget):
    """A line of chips, the slider and the filter field."""

    changed = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.x_axis = ChoiceChip("x", X_AXES, self.changed.emit)
        self.x_axis.setToolTip("The x axis of all charts")
        self.seeds = ChoiceChip("Seeds", SEEDS, self.changed.emit)
        self.seeds.setToolTip("How runs that were started together over several seeds are drawn")
        self.log = chip_button("log y", checked=False, toggled=lambda _: self.changed.emit())
        self.log.setToolTip("Logarithmic y axes; a button on each chart changes that chart alone")
        self.smoothing = QSlider(Qt.Orientation.Horizontal)
        self.smoothing.setRange(1, MOST_SMOOTHING)
        self.smoothing.setValue(SMOOTHING)
        self.smoothing.setFixedWidth(96)
        self.smoothing.setAccessibleName("Smoothing")
        self.smoothing.setToolTip("Smoothing: mean over so many points of each curve")
        self._window = label("", "muted")
        self._window.setFixedWidth(self._window.fontMetrics().horizontalAdvance("mean of 100 "))
        self.search = search_field(theme, SEARCHED, lambda _: self.changed.emit())
        self.search.setMinimumWidth(self.search.fontMetrics().horizontalAdvance(SEARCHED) + BESIDE_SEARCHED)
        self.search.setMaximumWidth(170)
        self.smoothing.valueChanged.connect(self._smooth)
        self._smooth()
        self.add = IconTool(theme, "plus", "Add a chart (Insert)")
        self._caption = label("Smoothing", "muted")
        self._has_guest = False
        smoothing = (self._caption, self.smoothing, self._window)
        self._row = row(self.x_axis, self.seeds, self.log, *smoothing, 1, self.search, self.add)
        self.setLayout(self._row)
        self.setMinimumWidth(480)

    @property
    def view(self) -> ChartOptions:
        return ChartOptions(
            x=cast(XAxis, self.x_axis.chosen),
            seeds=cast(Seeds, self.seeds.chosen),
            window=self.smoothing.value(),
            log=self.log.isChecked(),
        )

    def save(self, settings: QSettings) -> None:
        for name, value in asdict(self.view).items():
            settings.setValue(f"charts/{name}", value)

    def restore(self, settings: QSettings) -> None:
        """As they were saved; what the file holds beside that is left out."""
        names = [field.name for field in fields(ChartOptions)]
        self.show_options({name: str(settings.value(f"charts/{name}")) for name in names})

    def show_options(self, saved: Mapping[str, str]) -> None:
        """Options by their names; one that is missing or unknown stays as it is."""
        x, seeds, window, log = (saved.get(name, "") for name in ("x", "seeds", "window", "log"))
        if x in X_AXES:
            self.x_axis.choose(x)
        if seeds in SEEDS:
            self.seeds.choose(seeds)
        if window.isdecimal():
            self.smoothing.setValue(int(window))
        if log.lower() in ("true", "false"):
            self.log.setChecked(log.lower() == "true")

    def take_in(self, guest: QWidget | None) -> None:
        """Hold another widget in the room between the controls and the filter; None: it has left."""
        self._has_guest = guest is not None
        if guest is not None:
            self._row.insertWidget(self._row.count() - 3, guest, 100)
        self._show_caption()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_caption()

    def _show_caption(self) -> None:
        self._caption.setVisible(not self._has_guest and self.width() >= WIDE)

    def _smooth(self) -> None:
        window = self.smoothing.value()
        self._window.setText(f"mean of {window}" if window > 1 else "off")
        self.changed.emit()
