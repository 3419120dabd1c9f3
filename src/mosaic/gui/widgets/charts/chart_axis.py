"""The axis of a chart: steps, times or values, in the words of the window."""

from collections.abc import Sequence
from typing import Any, cast

import pyqtgraph

from mosaic.gui.models.charts.axis_ticks import clock_text, log_ticks, span_text, time_ticks
from mosaic.gui.models.charts.chart_options import XAxis
from mosaic.gui.models.wording import thousands

TICK_PIXELS = 76
"""Between two marks of time or of a logarithm, about."""

_pg: Any = cast(Any, pyqtgraph)


class ChartAxis(_pg.AxisItem):
    """500, 20k, 1.5M instead of scientific notation and scaled units; clock times; decades."""

    shows: XAxis = "step"
    is_log = False

    def tickValues(self, low: float, high: float, size: float) -> Sequence[tuple[float | None, Sequence[float]]]:
        low, high = sorted((low, high))
        if self.is_log:
            return [(None, log_ticks(low, high, max(int(size / 22), 2)))]
        if self.shows == "step":
            return cast("Sequence[tuple[float, Sequence[float]]]", super().tickValues(low, high, size))
        return [time_ticks(low, high, int(size / TICK_PIXELS), is_clock=self.shows == "wall")]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:  # noqa: ARG002
        if self.is_log:
            return [thousands(float(f"{10**value:.6g}")) for value in values]
        if self.shows == "wall":
            return [clock_text(value, spacing) for value in values]
        if self.shows == "relative":
            return [span_text(value, spacing) for value in values]
        return [thousands(round(value / spacing) * spacing) for value in values]
