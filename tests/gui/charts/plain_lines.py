"""Lines of values that a test has thought up."""

from collections.abc import Sequence

import numpy as np

from mosaic.gui.models.charts.plotted_curve import Line
from mosaic.gui.models.charts.series import Column, Series
from mosaic.gui.models.daemon.news import Points


def a_series(values: Sequence[float] | Column, steps: Sequence[float] | Column | None = None) -> Series:
    series = Series()
    x = np.arange(len(values), dtype=float) if steps is None else np.asarray(steps, dtype=float)
    series.extend(Points(x.tolist(), (1.7e9 + x).tolist(), np.asarray(values, dtype=float).tolist()))
    return series


def a_line(values: Sequence[float] | Column, steps: Sequence[float] | None = None, **how: int) -> Line:
    line = Line(a_series(values, steps), how.get("window", 1), log=bool(how.get("log")))
    line.update()
    return line
