"""The axis of a chart: steps, times or values, in the words of the window."""

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import pyqtgraph
from PySide6.QtCore import QRectF, QTimer

from mosaic.gui.models.charts.axis_ticks import apart, clock_text, log_ticks, number_text, span_text, time_ticks
from mosaic.gui.models.charts.chart_options import XAxis
from mosaic.gui.models.wording import thousands

TICK_PIXELS = 76
"""Between two marks of time or of a logarithm, about."""

NARROWEST = 42
"""Pixels of an upright axis: charts below one another line up where their numbers are short."""
GAP = 6
"""Pixels between two texts."""

_pg: Any = cast(Any, pyqtgraph)


class ChartAxis(_pg.AxisItem):
    """500, 20k, 1.5M instead of scientific notation and scaled units; clock times; decades."""

    shows: XAxis = "step"
    is_log = False

    def tickValues(self, low: float, high: float, size: float) -> Sequence[tuple[float | None, Sequence[float]]]:
        low, high = sorted((low, high))
        if self.is_log:
            return [(None, log_ticks(low, high, max(int(size / 22), 2)))]
        if self.shows in ("step", "value"):
            return cast("Sequence[tuple[float, Sequence[float]]]", super().tickValues(low, high, size))
        return [time_ticks(low, high, int(size / TICK_PIXELS), is_clock=self.shows == "wall")]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:  # noqa: ARG002
        if self.is_log:
            return [thousands(float(f"{10**value:.6g}")) for value in values]
        if self.shows == "wall":
            return [clock_text(value, spacing) for value in values]
        if self.shows == "relative":
            return [span_text(value, spacing) for value in values]
        return [number_text(round(value / spacing) * spacing, spacing) for value in values]

    def generateDrawSpecs(self, painter: Any) -> Any:
        """Without the marks that would lie on one another, and as wide as the widest of the others."""
        specs = cast("tuple[Any, Any, list[tuple[QRectF, int, str]]] | None", super().generateDrawSpecs(painter))
        if specs is None:
            return None
        axis, ticks, texts = specs
        is_upright = self.orientation == "left"
        spans = [(rect.top(), rect.bottom()) if is_upright else (rect.left(), rect.right()) for rect, *_ in texts]
        kept = [texts[place] for place in apart(spans, 0 if is_upright else GAP)]
        if is_upright:
            wanted = max(NARROWEST, *(int(text[0].width()) + 10 for text in kept), 0)
            if wanted != self.fixedWidth:
                # Not while it is being painted.
                QTimer.singleShot(0, self, partial(self.setWidth, wanted))
        return axis, ticks, kept
