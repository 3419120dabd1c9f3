"""The running estimate of an evaluation as a curve: the mean so far, from five episodes on with its interval."""

from collections.abc import Sequence

import numpy as np

from mosaic.gui.models.charts.plotted_curve import Drawn, Fall
from mosaic.gui.models.charts.series import Reduced, drawn_at, extremes, in_view
from mosaic.gui.models.evaluation.evaluations import Played
from mosaic.spec.return_statistics import running_mean


class RunningCurve:
    """x is the number of episodes."""

    note = ""

    def __init__(self, played: Played) -> None:
        self.name, self.colour = played.name, played.colour
        self._x = np.arange(1.0, len(played.returns) + 1)
        self._mean, self._half = running_mean(played.returns)

    @property
    def faults(self) -> Sequence[str]:
        return ()

    def drawn(self, low: float, high: float, columns: int, *, with_raw: bool = True) -> Drawn:
        del with_raw
        first, last = in_view(self._x, low, high)
        places = first + extremes(self._mean[first:last], columns)
        line: Reduced = drawn_at(self._x, self._mean, places)
        half = self._half[places]
        return Drawn(line, band=[line.y - half, line.y + half])

    def at(self, x: float) -> tuple[float, int]:
        place = round(x) - 1
        inside = 0 <= place < len(self._mean)
        return (float(self._mean[place]) if inside else float("nan")), 1

    def falls(self) -> Sequence[Fall]:
        return ()
