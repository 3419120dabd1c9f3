"""The Metrics tab: a chart for each tag and those that the user adds, redrawn four times a second while runs learn."""

import importlib
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSettings, Qt, QTimer
from PySide6.QtGui import QCursor, QHideEvent, QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QWidget

from mosaic.config import JsonObject
from mosaic.gui.models.charts.chart_export import ChartExport
from mosaic.gui.models.charts.chart_layout import ChartLayout, ChartSpec, spec_of
from mosaic.gui.models.charts.chart_options import ChartOptions
from mosaic.gui.models.charts.charts_model import Charts, Member, group_name, grouped
from mosaic.gui.models.daemon.news import Notice
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of, number, thousands
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.charts.card_contents import CardContents
from mosaic.gui.widgets.charts.chart_arranger import ChartArranger
from mosaic.gui.widgets.charts.chart_card import ChartCard
from mosaic.gui.widgets.charts.chart_card_grid import CardGrid
from mosaic.gui.widgets.charts.chart_card_tools import FORMATS, CardTools
from mosaic.gui.widgets.charts.chart_controls import ChartControls
from mosaic.gui.widgets.charts.chart_legend import Legend
from mosaic.gui.widgets.charts.chart_readout import Readout
from mosaic.gui.widgets.dialogs import choose_file
from mosaic.gui.widgets.labels_and_buttons import column, label, row
from mosaic.spec.states import LIVE
from mosaic.statistics.enough_seeds import remark

REFRESH_MS = 250
SLOWEST_MS = 2000
BUSY = 0.4
"""Share of a core from which on charts are refreshed less often."""
SLICE_S = 0.016
"""Charts are drawn this long before other events get their turn."""
PAINTED_AT_ONCE = 60
"""Curves: charts with more of them in all are not painted in one go, but one after the other."""
PAINT_MS = 16
"""For the paint of what was drawn, before more is."""
POINT_MS = 30
"""Between two places of the cross, however fast the mouse is."""
LOW = 400
"""Pixels of height below which the legend is in the line of the controls."""
WIDE = 860
"""Pixels from which on there is room to say more of the current run."""


class MetricsTab(QWidget):
    """The current run in a line, controls, legend, charts."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio, self._theme = studio, theme
        self.charts = Charts(studio.curves)
        self.saving = ChartExport()
        self._has_charts = False
        self.contents = CardContents(studio, theme, self.charts, self.refresh)
        self._waiting: list[ChartCard] = []
        """To be drawn."""
        self._pointed: tuple[ChartCard, float | None] | None = None
        self._chips = label("", "muted")
        self._chips.setTextFormat(Qt.TextFormat.RichText)
        self.legend = Legend()
        self.controls = ChartControls(theme)
        self.arranged = ChartLayout()
        self.grid = CardGrid(self._make_card, self.arranged.span_of)
        self.arranger = ChartArranger(self, self, studio, theme, self.arranged, self.grid, self.contents)
        self.controls.add.clicked.connect(lambda _=False: self.arranger.ask_for_chart())
        self.tools = CardTools(
            theme,
            self,
            log=self._toggle_log,
            save=self.save,
            full=lambda card: self.show_full(card.tag),
            more=self.arranger.open_menu_of,
        )
        self.readout = Readout(theme, self)
        layout = column(self, row(self.controls, margins=(14, 10, 12, 4)))
        self._second = row(self.legend, self._chips, spacing=20, margins=(14, 2, 14, 6))
        self._second.setStretch(0, 1)
        self._is_low = False
        layout.addLayout(self._second)
        layout.addWidget(self.grid, 1)
        self._timer = QTimer(self, interval=REFRESH_MS)
        self._timer.timeout.connect(self._tick)
        self._spent = (time.thread_time(), time.monotonic())
        self._settle = QTimer(self, singleShot=True)
        self._settle.timeout.connect(self._draw)
        self._go_on = QTimer(self, singleShot=True)
        self._go_on.timeout.connect(self._draw_some)
        self._point = QTimer(self, singleShot=True, interval=POINT_MS)
        self._point.timeout.connect(self._show_cross)
        self.controls.changed.connect(self.refresh)
        self.controls.log.toggled.connect(self.contents.log.clear)
        self.grid.verticalScrollBar().valueChanged.connect(self._draw)
        self.saving.done.connect(self._tell_saved)
        self.saving.failed.connect(self._tell_failed)
        studio.selection_changed.connect(self._select)
        theme.changed.connect(self.refresh)
        leave = QShortcut(QKeySequence(Qt.Key.Key_Escape), self)
        leave.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        leave.activated.connect(self._leave)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._timer.isActive():
            self._timer.start()
            # Once the window is painted: the import takes a fifth of a second. Not in a thread, which Qt's bindings
            # do not always survive.
            QTimer.singleShot(0, self._load_charts)

    def _load_charts(self) -> None:
        importlib.import_module("mosaic.gui.widgets.charts.scalar_chart")
        self._has_charts = True

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.readout.hide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._is_low != (self.height() < LOW):
            self._fold(not self._is_low)
        self._settle.start()

    def _fold(self, is_low: bool) -> None:
        """Two lines above the charts, or where the tab is low, one."""
        self._is_low = is_low
        self._chips.setVisible(not is_low)
        if is_low:
            self.controls.take_in(self.legend)
        else:
            self._second.insertWidget(0, self.legend, 1)
            self.controls.take_in(None)
        self._second.setContentsMargins(*((0, 0, 0, 0) if is_low else (14, 2, 14, 6)))

    def members(self) -> list[Member]:
        return [
            Member(
                run_id,
                name_of(record) if record else run_id,
                self._studio.colour_of(run_id),
                record.group if record else "",
            )
            for run_id, record in ((run_id, self._studio.runs.get(run_id)) for run_id in self._studio.selected)
        ]

    def as_view(self) -> JsonObject:
        """How the charts are shown, for a saved view."""
        search = self.controls.search.text()
        return {**asdict(self.controls.view), "search": search, "layout": self.arranged.to_json()}

    def show_view(self, shown: JsonObject) -> None:
        """As it was saved; what this version does not know is left out."""
        self.controls.show_options({name: str(value) for name, value in shown.items()})
        self.controls.search.setText(str(shown.get("search") or ""))
        if "layout" in shown:
            self.arranged.restore(str(shown["layout"]))
            self.grid.place()
        self.refresh()

    def refresh(self) -> None:
        """Bring everything up to date with the models; cheap where nothing changed."""
        # A dock behind other tabs counts as visible, and is not seen.
        if self.visibleRegion().isEmpty():
            return
        self._show_chips()
        self._show_legend()
        wanted = self.controls.search.text().lower()
        self.contents.look(self.members())
        natural = [*self._studio.curves.tags(), *self.contents.heat_keys()] if self._studio.selected else []
        tags = [
            key
            for key in self.arranged.arranged(natural)
            if wanted in f"{(spec := spec_of(key)).about} {spec.title}".lower()
            and (natural or not self._studio.selected)
        ]
        if tags != self.grid.tags:
            self.grid.show_tags(tags)
        if not tags:
            self._say_why()
        if self._pointed is not None and self._pointed[0] not in self.grid.cards():
            self._point_at(self._pointed[0], None)
        self._draw()

    def _say_why(self) -> None:
        """There is no chart."""
        wanted = self.controls.search.text()
        if not self._studio.selected:
            text = "Select one or more runs on the left."
        elif self.arranged.removed and not wanted and self._studio.curves.tags():
            text = "Every chart was removed: Insert adds one, and the menu of + shows all again."
        elif wanted and self._studio.curves.tags():
            text = f"No chart matches “{wanted}”."
        else:
            text = "No metrics yet: they appear with the first events."
        self.grid.empty.setText(text)

    def _tick(self) -> None:
        """Refresh, and next time later if this thread had much to do since the last."""
        before, self._spent = self._spent, (time.thread_time(), time.monotonic())
        share = (self._spent[0] - before[0]) / max(self._spent[1] - before[1], 1e-3)
        interval = self._timer.interval()
        if share > BUSY:
            self._timer.setInterval(min(2 * interval, SLOWEST_MS))
        elif share < BUSY / 3 and interval > REFRESH_MS:
            self._timer.setInterval(max(interval // 2, REFRESH_MS))
        self.refresh()

    def show_full(self, tag: str) -> None:
        """One chart as large as the tab; the same again, or none, shows all."""
        self.grid.show_full("" if tag == self.grid.full else tag)
        self.tools.refresh()
        # For the Escape that leads back.
        if tag in self.grid.tags:
            self.grid.focus_card(tag, scrolls=bool(self.grid.full))
        else:
            self.grid.setFocus()
        self._draw()

    def _leave(self) -> None:
        """Escape: out of a chart's inside, then back to all charts."""
        if self.grid.full:
            self.show_full(self.grid.full)
        elif self.grid.current in self.grid.tags:
            self.grid.focus_card(self.grid.current)

    def show_every_chart(self) -> None:
        self.controls.search.clear()

    def save_charts(self, settings: QSettings) -> None:
        self.controls.save(settings)
        settings.setValue("charts/layout", self.arranged.to_json())

    def restore_charts(self, settings: QSettings) -> None:
        self.controls.restore(settings)
        self.arranged.restore(str(settings.value("charts/layout") or ""))

    def save(self, card: ChartCard, kind: str) -> None:
        """Ask where to, without waiting for the answer."""
        dialog = choose_file(
            self,
            f"Save {card.spec.title}",
            partial(self._save_as, card, kind),
            files=f"{FORMATS[kind]} (*.{kind})",
            save_as=f"{file_name(card.spec)}.{kind}",
        )
        dialog.setDefaultSuffix(kind)

    def _save_as(self, card: ChartCard, kind: str, file: str) -> None:
        path = Path(file)
        if kind == "csv":
            self.saving.save_points(path, card.spec.y, self.charts.points(card.spec.y, self.members()))
        elif card.chart is None:
            self.saving.save_picture(path, card.grab().toImage())
        else:
            from mosaic.gui.widgets.charts.chart_picture import as_png, as_svg

            paint = as_png if kind == "png" else as_svg
            self.saving.save_picture(path, paint(card.chart, card.spec.title, self._theme))

    def _tell_saved(self, text: str) -> None:
        self._studio.noticed.emit(Notice(text, kind="info"))

    def _tell_failed(self, text: str) -> None:
        self._studio.noticed.emit(Notice(text))

    def _make_card(self, tag: str) -> ChartCard:
        card = ChartCard(tag, self._theme)
        card.entered.connect(self.tools.come_to)
        card.left.connect(self.tools.leave)
        card.changed.connect(self.tools.refresh)
        card.opened.connect(self.show_full)
        card.pointed.connect(self._point_at)
        card.pressed.connect(self.arranger.press)
        card.menu_asked.connect(self.arranger.open_menu_of)
        return card

    def _select(self) -> None:
        self.charts.keep(self._studio.selected)
        self.refresh()

    def _toggle_log(self, card: ChartCard) -> None:
        self.contents.log[card.tag] = not card.log
        self._draw()

    def _draw(self) -> None:
        """Draw what is in view and out of date, those first that have waited longest."""
        if not self._has_charts or self._settle.isActive():
            return
        seen = self.grid.seen()
        waiting = [card for card in self._waiting if card in seen]
        self._waiting = waiting + [card for card in seen if card not in waiting]
        self._draw_some()

    def _draw_some(self) -> None:
        """What takes too long for one go is gone on with in the next."""
        deadline = time.monotonic() + SLICE_S
        members, view = self.members(), self.controls.view
        painted = 0
        while self._waiting:
            card = self._waiting[0]
            worked = self._draw_card(card, members, view, deadline)
            if worked and card not in self._waiting:
                painted += len(members)
            if painted >= PAINTED_AT_ONCE or (worked and time.monotonic() > deadline):
                self._go_on.start(PAINT_MS if painted else 0)
                return

    def _draw_card(self, card: ChartCard, members: list[Member], view: ChartOptions, deadline: float) -> bool:
        """It waits no more, unless there was no time to make its curves; False if there was nothing to do."""
        drawn = self.contents.draw(card, members, view, deadline)
        if drawn is not None:
            self._waiting.remove(card)
        return drawn is not False

    def _point_at(self, card: ChartCard, x: float | None) -> None:
        self._pointed = (card, x)
        if not self._point.isActive():
            self._point.start()

    def _show_cross(self) -> None:
        """At the same x in every chart; beside the mouse the names with the values."""
        from mosaic.gui.widgets.charts.scalar_chart import x_text

        if self._pointed is None:
            return
        pointed, x = self._pointed
        if x is None:
            self._pointed = None
        axis = None if pointed.chart is None else pointed.chart.x_axis
        for card in self.grid.seen():
            # A tag as x has nothing in common with steps.
            if card is not pointed and card.chart is not None and axis == card.chart.x_axis != "value":
                card.chart.show_cross(x)
        if x is None or pointed.chart is None:
            self.readout.hide()
            return
        self.readout.show_values(x_text(x, pointed.chart.x_axis), x, pointed.chart.curves, QCursor.pos())

    def _show_chips(self) -> None:
        record = self._studio.record()
        if record is None:
            self._chips.setText("")
            return
        colour = self._theme.state(record.state).name()
        steps = f"step {record.global_step:,}"
        if record.steps_in_all:
            steps += f" of {thousands(record.steps_in_all)}"
        parts = [f'<span style="color:{colour}">● {record.state}</span>', steps]
        is_wide = self.width() >= WIDE
        if is_wide and record.state in LIVE and record.steps_per_s:
            parts.append(f"{record.steps_per_s:,.0f} steps/s")
        if is_wide and record.last_return is not None:
            parts.append(f"return {number(record.last_return)}")
        self._chips.setText(" &nbsp;·&nbsp; ".join(parts))

    def _seeds_of(self, group: str, drawn: int) -> str:
        """How many of the seeds that were started are in the curve."""
        started = sum(record.group == group for record in self._studio.runs.records())
        return f"n = {drawn} of {started} seeds" if drawn < started else f"n = {drawn}"

    def _show_legend(self) -> None:
        view = self.controls.view
        groups = grouped(self.members(), view)
        entries: list[tuple[str, str]] = []
        for group in groups:
            text = group[0].name
            if view.seeds != "each" and group[0].group:
                said = remark(len(group)).replace("interval", "band")
                text = (
                    f"{group_name(group)} · {self._seeds_of(group[0].group, len(group))}{f' ({said})' if said else ''}"
                )
            entries.append((text, self._theme.curve(group[0].colour).name()))
        self.legend.show_entries(entries)


def file_name(spec: ChartSpec) -> str:
    """Proposed for a chart that is saved."""
    parts = [part for part in (spec.y, spec.x) if part] if spec.kind != "parallel" else ["parallel"]
    return "_against_".join(parts).replace("/", "_")
