"""Draws each kind of chart into its card: curves, a tag against another, runs as dots or lines, heat maps."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from mosaic.gui.models.charts.chart_layout import ChartSpec
from mosaic.gui.models.charts.chart_options import ChartOptions
from mosaic.gui.models.charts.charts_model import Charts, Member
from mosaic.gui.models.charts.heat_maps import Group, HistogramsOfRun
from mosaic.gui.models.charts.pair_curve import PairCurve
from mosaic.gui.models.charts.plots_over_runs import ValuesOfRuns, parallel_of, scatter_of
from mosaic.gui.models.studio import Studio
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.charts.chart_card import ChartCard
from mosaic.gui.widgets.charts.dot_plot import DotPlot
from mosaic.gui.widgets.charts.heat_map_view import HeatMapView
from mosaic.gui.widgets.charts.parallel_view import ParallelView
from mosaic.gui.widgets.labels_and_buttons import label
from mosaic.spec.states import LIVE

FLAG = "--histograms-every 20"


class CardContents:
    """Knows what each card shows, and whether that is up to date."""

    def __init__(self, studio: Studio, theme: Theme, charts: Charts, refresh: Callable[[], object]) -> None:
        self._studio, self._theme, self._charts = studio, theme, charts
        self.values = ValuesOfRuns(studio.link, refresh)
        self.histograms = HistogramsOfRun(studio.link, refresh)
        self.log: dict[str, bool] = {}
        """Of charts that differ from the others."""

    def look(self, members: Sequence[Member]) -> None:
        """These runs are drawn; ask for what their charts need beside the curves."""
        records = [found for each in members if (found := self._studio.runs.get(each.run_id)) is not None]
        self.values.keep([each.run_id for each in members])
        self.values.take(records)
        current = self._studio.record()
        self.histograms.look_at(*(("", 0) if current is None else (current.run_id, current.attempt)))
        if current is not None and current.kind == "train" and current.attempt:
            self.histograms.want(now=time.monotonic(), grows=current.state in LIVE)

    def heat_keys(self) -> list[str]:
        """Charts that are there because the current run has histograms."""
        groups = [
            group for group in ("weights", "gradients") if any(getattr(row, group) for row in self.histograms.rows)
        ]
        return [ChartSpec("heat", group).key for group in groups]

    def draw(self, card: ChartCard, members: Sequence[Member], view: ChartOptions, deadline: float) -> bool | None:
        """False if it is up to date; None if the deadline came first, and then asking again goes on."""
        own = replace(view, log=self.log.get(card.tag, view.log))
        match card.spec.kind:
            case "curve":
                return self._draw_curves(card, members, own, deadline)
            case "pair":
                return self._draw_pair(card, members, own)
            case "scatter" | "parallel":
                return self._draw_runs(card, members)
            case "heat":
                return self._draw_heat(card, own)

    def is_drawn(self, card: ChartCard, members: Sequence[Member], view: ChartOptions) -> bool:
        own = replace(view, log=self.log.get(card.tag, view.log))
        return card.drawn == self._charts.signature(card.tag, members, own)

    def _draw_curves(
        self, card: ChartCard, members: Sequence[Member], own: ChartOptions, deadline: float
    ) -> bool | None:
        wanted = self._charts.signature(card.tag, members, own)
        if card.drawn == wanted:
            return False
        curves = self._charts.curves_of(card.tag, members, own, deadline)
        if curves is None:
            return None
        card.drawn = wanted
        card.chart_of_curves().show_curves(curves, x_axis=own.x, log=own.log)
        card.remark([fault for curve in curves for fault in curve.faults], log=own.log)
        return True

    def _draw_pair(self, card: ChartCard, members: Sequence[Member], own: ChartOptions) -> bool:
        found = dict(self._charts.points(card.spec.x, members))
        pairs = [(one, found[one], y) for one, y in self._charts.points(card.spec.y, members) if one in found]
        wanted = own.log, [(one, id(x), len(x), id(y), len(y)) for one, x, y in pairs]
        if card.drawn == wanted:
            return False
        card.drawn = wanted
        curves = [PairCurve(one.name, one.colour, x, y, log=own.log) for one, x, y in reversed(pairs)]
        card.chart_of_curves().show_curves(curves, x_axis="value", log=own.log)
        faults = [fault for curve in curves for fault in curve.faults]
        if missing := len(members) - len(pairs):
            faults.append(f"{missing} of {len(members)} runs lack one of the two")
        card.remark(faults, log=own.log)
        return True

    def _draw_runs(self, card: ChartCard, members: Sequence[Member]) -> bool:
        spec = card.spec
        names = spec.columns if spec.kind == "parallel" else (spec.x, spec.y)
        grows = any(record.state in LIVE for record in self.values.rows.records)
        self.values.want(names, now=time.monotonic(), grows=grows)
        wanted = tuple(members), self.values.revision, self._facts(names, members)
        if card.drawn == wanted:
            return False
        card.drawn = wanted
        if spec.kind == "parallel":
            lines = card.body if isinstance(card.body, ParallelView) else ParallelView(self._theme, spec.title)
            content, missing = parallel_of(spec, members, self.values)
            lines.show_parallel(content)
            self._show(card, lines)
        else:
            dots = card.body if isinstance(card.body, DotPlot) else DotPlot(self._theme, spec.title)
            plot, missing = scatter_of(spec, members, self.values)
            dots.show_plot(plot)
            self._show(card, dots)
        card.remark([missing] if missing else [])
        return True

    def _show(self, card: ChartCard, body: DotPlot | ParallelView) -> None:
        if card.body is not body:
            body.chosen.connect(self._select)
            card.show_body(body)

    def _select(self, run_id: str) -> None:
        self._studio.select([run_id])

    def _facts(self, names: Sequence[str], members: Sequence[Member]) -> object:
        """What the records themselves say changes without an answer."""
        return [[self.values.value(each.run_id, name) for name in names] for each in members]

    def _draw_heat(self, card: ChartCard, own: ChartOptions) -> bool:
        histograms, spec = self.histograms, card.spec
        group: Group = "gradients" if spec.y == "gradients" else "weights"
        wanted = own.x, histograms.run_id, len(histograms.rows), histograms.damaged, self._theme.scheme
        if card.drawn == wanted:
            return False
        card.drawn = wanted
        names = [name for name in histograms.names(group) if not spec.x or name == spec.x]
        if not names:
            card.show_body(_sentence(self._why_none(group)))
            return True
        shown = card.body if isinstance(card.body, HeatMapView) else HeatMapView(self._theme, spec.title)
        maps = [histograms.heat_map(group, name) for name in names]
        shown.show_maps(maps, x_axis=own.x, began=self._studio.curves.began(histograms.run_id))
        card.show_body(shown)
        faults = [f"{histograms.damaged} damaged lines are left out"] if histograms.damaged else []
        card.remark(faults)
        return True

    def _why_none(self, group: Group) -> str:
        if not self.histograms.rows:
            return f"The current run has no histograms. Train a run with {FLAG} to record them."
        return f"The current run has no histograms of {group} here: its networks got none, or have other names."


def _sentence(text: str) -> QLabel:
    made = label(text, "muted", wraps=True)
    made.setAlignment(Qt.AlignmentFlag.AlignCenter)
    return made
