"""The Metrics tab: a chart for each tag, the selected runs in each, redrawn four times a second while they learn."""

import importlib
import threading
import time
from functools import partial

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QLabel, QSlider, QVBoxLayout, QWidget

from mosaic.gui.models.series import trailing_mean
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of, number, thousands, title_of
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.card_grid import CardGrid
from mosaic.gui.widgets.chart_card import ChartCard
from mosaic.gui.widgets.parts import chip_button, label, row, search_field
from mosaic.spec.states import LIVE

REFRESH_MS = 250
SLICE_S = 0.03
"""Charts are drawn this long before other events get their turn."""
SMOOTHING = 20
MOST_SMOOTHING = 100
LEGEND = 6
SMOOTH = frozenset({"charts/learning_rate"})
"""Tags without noise, of which a mean over a window would only lag behind."""


class MetricsTab(QWidget):
    """Chips of the current run, controls, legend, charts."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio, self._theme = studio, theme
        self._loaded = threading.Event()
        self._drawn: dict[str, object] = {}
        self._chips = label("", "muted")
        self._chips.setTextFormat(Qt.TextFormat.RichText)
        self._legend = QLabel()
        self._legend.setTextFormat(Qt.TextFormat.RichText)
        self._smoothing = QSlider(Qt.Orientation.Horizontal)
        self._smoothing.setRange(1, MOST_SMOOTHING)
        self._smoothing.setValue(SMOOTHING)
        self._smoothing.setFixedWidth(96)
        self._smoothing.setAccessibleName("Smoothing")
        self._window = label("", "muted")
        self._window.setFixedWidth(self._window.fontMetrics().horizontalAdvance("mean of 100 "))
        self._by_time = chip_button("x: time", checked=False, toggled=lambda _: self.refresh())
        self._by_time.setToolTip("Time since the run began instead of environment steps")
        self._search = search_field(theme, "Filter charts…", lambda _: self.refresh())
        self._search.setFixedWidth(170)
        self.grid = CardGrid()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        controls = (self._by_time, label("Smoothing", "muted"), self._smoothing, self._window, self._search)
        layout.addLayout(row(self._chips, 1, *controls, margins=(14, 10, 12, 4)))
        layout.addLayout(row(self._legend, 1, margins=(14, 2, 12, 6)))
        layout.addWidget(self.grid, 1)
        self._timer = QTimer(self)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(self.refresh)
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.timeout.connect(self._draw)
        self._smoothing.valueChanged.connect(self.refresh)
        self.grid.verticalScrollBar().valueChanged.connect(self._draw)
        studio.selection_changed.connect(self.refresh)
        theme.changed.connect(self._forget_drawn)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._timer.isActive():
            self._timer.start()
            # Imported beside the event loop: it takes most of a second, and the window is already there.
            threading.Thread(target=_load_charts, args=[self._loaded], name="charts", daemon=True).start()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._settle.start()

    def refresh(self) -> None:
        """Bring everything up to date with the models; cheap where nothing changed."""
        if not self.isVisible():
            return
        self._show_chips()
        self._show_legend()
        wanted = self._search.text().lower()
        tags = [tag for tag in self._studio.curves.tags() if wanted in f"{tag} {title_of(tag)}".lower()]
        if tags != self.grid.tags:
            self.grid.show_cards(tags, partial(ChartCard, theme=self._theme))
            self._drawn = {tag: drawn for tag, drawn in self._drawn.items() if tag in tags}
            # New cards are shown with the next round of events.
            self._settle.start()
        self._draw()

    def _forget_drawn(self) -> None:
        self._drawn.clear()
        self.refresh()

    def _draw(self) -> None:
        """Draw what is in view and out of date; what takes too long for one go is gone on with in the next."""
        if not self._loaded.is_set() or self._settle.isActive():
            return
        deadline = time.monotonic() + SLICE_S
        for card in self.grid.cards():
            if card.is_seen and self._draw_card(card) and time.monotonic() > deadline:
                self._settle.start()
                return

    def _draw_card(self, card: ChartCard) -> bool:
        """False if there was nothing to do."""
        from mosaic.gui.widgets.scalar_chart import Curve

        by_time, window = self._by_time.isChecked(), self._smoothing.value()
        series = [
            (run_id, found)
            for run_id in reversed(self._studio.selected)
            if (found := self._studio.curves.get(run_id, card.tag))
        ]
        state = (by_time, window, [(run_id, id(found), len(found)) for run_id, found in series])
        if self._drawn.get(card.tag) == state:
            return False
        self._drawn[card.tag] = state
        curves: list[Curve] = []
        for run_id, found in series:
            record = self._studio.runs.get(run_id)
            x = found.times - found.times[0] if by_time else found.steps
            colour = self._theme.curve(self._studio.colour_of(run_id))
            raw = found.values
            smooth = raw if card.tag in SMOOTH else trailing_mean(raw, window)
            curves.append(Curve(name_of(record) if record else run_id, colour, x, raw, smooth))
        card.show_curves(curves, time_axis=by_time)
        return True

    def _show_chips(self) -> None:
        window = self._smoothing.value()
        self._window.setText(f"mean of {window}" if window > 1 else "off")
        record = self._studio.record()
        if record is None:
            self._chips.setText("Select a run on the left.")
            return
        colour = self._theme.state(record.state).name()
        steps = f"step {record.global_step:,}"
        if record.total_timesteps:
            steps += f" of {thousands(record.total_timesteps)}"
        parts = [f'<span style="color:{colour}">● {record.state}</span>', steps]
        if record.state in LIVE and record.steps_per_s:
            parts.append(f"{record.steps_per_s:,.0f} steps/s")
        if record.last_return is not None:
            parts.append(f"return {number(record.last_return)}")
        self._chips.setText(" &nbsp;·&nbsp; ".join(parts))

    def _show_legend(self) -> None:
        parts: list[str] = []
        for run_id in self._studio.selected[:LEGEND]:
            if (record := self._studio.runs.get(run_id)) is not None:
                colour = self._theme.curve(self._studio.colour_of(run_id)).name()
                parts.append(f'<span style="color:{colour}">━</span> {name_of(record)}')
        if (more := len(self._studio.selected) - LEGEND) > 0:
            parts.append(f"and {more} more")
        self._legend.setText(" &nbsp;&nbsp; ".join(parts))


def _load_charts(loaded: threading.Event) -> None:
    # An event and not a signal: the tab may be gone by the time that the import is done.
    importlib.import_module("mosaic.gui.widgets.scalar_chart")
    loaded.set()
