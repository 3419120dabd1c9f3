"""One tag of a run against another: the points of the steps at which the run has logged both."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from mosaic.gui.models.charts.plotted_curve import Drawn, Fall
from mosaic.gui.models.charts.series import Column, Reduced, Series

MOST = 4000
"""Points of a run that are drawn; of more, evenly chosen ones."""


class PairCurve:
    """Drawn as dots, with a faint line in the order of the steps."""

    def __init__(self, name: str, colour: int, x: Series, y: Series, *, log: bool = False) -> None:
        self.name, self.colour, self.note = name, colour, ""
        self._log = log
        self._x_steps, self._x_values = _by_step(x)
        self._y_steps, self._y_values = _by_step(y)

    @cached_property
    def points(self) -> tuple[Column, Column, Column]:
        """Steps, x and y, where both are finite numbers."""
        steps, at_x, at_y = np.intersect1d(self._x_steps, self._y_steps, assume_unique=True, return_indices=True)
        x, y = self._x_values[at_x], self._y_values[at_y]
        if self._log:
            y = np.log10(y, where=y > 0, out=np.full(len(y), np.nan))
        finite = np.isfinite(x) & np.isfinite(y)
        return steps[finite], x[finite], y[finite]

    @property
    def faults(self) -> Sequence[str]:
        """How many steps lack one of the two: they are not drawn, and nothing is put in their place."""
        joined, in_all = len(self.points[0]), len(np.union1d(self._x_steps, self._y_steps))
        if joined == in_all:
            return ()
        return (f"{self.name}: {joined:,} of {in_all:,} steps have both values; the others are not shown",)

    def drawn(self, low: float, high: float, columns: int, *, with_raw: bool = True) -> Drawn:  # noqa: ARG002
        _, x, y = self.points
        stride = -(-len(x) // MOST) or 1
        x, y = x[::stride], y[::stride]
        # A gap behind each point: dots, and not a line that runs back and forth.
        apart = np.full(2 * len(x), np.nan)
        apart[::2] = y
        return Drawn(Reduced(np.repeat(x, 2), apart), Reduced(x, y) if with_raw else None)

    def at(self, x: float) -> tuple[float, int]:
        """Of the nearest point; x may come more than once."""
        _, own, y = self.points
        if not len(own) or not own.min() <= x <= own.max():
            return float("nan"), 1
        value = float(y[int(np.abs(own - x).argmin())])
        return (10**value if self._log else value), 1

    def falls(self) -> Sequence[Fall]:
        return ()


def _by_step(series: Series) -> tuple[Column, Column]:
    """One value a step: the mean, where several were logged at it."""
    steps, values = series.steps, series.values
    different, places, counts = np.unique(steps, return_inverse=True, return_counts=True)
    if len(different) == len(steps):
        order = np.argsort(steps, kind="stable")
        return steps[order], values[order]
    return different, np.bincount(places, weights=values) / counts
