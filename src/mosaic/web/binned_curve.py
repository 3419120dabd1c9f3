"""A curve of any length in bounded room: means, lowest and highest values of bins of equal width, kept up to date.

A bin is `width` environment steps wide, a power of two. A step behind the last bin doubles the width: neighbours are
joined, which loses nothing of a sum, a count, a lowest or a highest value.
"""

from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64]
BINS = 2048


@dataclass(frozen=True)
class BinnedPoints:
    """Of each bin that holds a value."""

    x: Column
    """Mean step."""
    mean: Column
    low: Column
    high: Column
    count: Column
    """Values in it."""


class BinnedCurve:
    """Of one metric of one run."""

    def __init__(self, bins: int = BINS) -> None:
        self.width = 1
        self.rows = 0
        """Values that were added."""
        self.not_finite = 0
        """Those of them that are NaN or infinite: no mean has them."""
        self._bins = bins
        self._count = np.zeros(bins)
        self._steps = np.zeros(bins)
        self._values = np.zeros(bins)
        self._low = np.full(bins, np.inf)
        self._high = np.full(bins, -np.inf)

    def add(self, steps: Column, values: Column) -> int:
        """The first bin that has changed since."""
        self.rows += len(steps)
        is_number = np.isfinite(values) & np.isfinite(steps) & (steps >= 0)
        self.not_finite += int(len(steps) - is_number.sum())
        steps, values = steps[is_number], values[is_number]
        if not len(steps):
            return self._bins
        first = 0 if self._widen(float(steps.max())) else self._bins
        places = (steps // self.width).astype(np.intp)
        self._count += np.bincount(places, minlength=self._bins)
        self._steps += np.bincount(places, steps, minlength=self._bins)
        self._values += np.bincount(places, values, minlength=self._bins)
        np.minimum.at(self._low, places, values)
        np.maximum.at(self._high, places, values)
        return min(first, int(places.min()))

    def points_of_width(self, width: int) -> BinnedPoints:
        """As if its bins were so much wider; the curve itself stays as it is."""
        if width == self.width:
            return self.points()
        wider = deepcopy(self)
        while wider.width < width:
            wider._join()
        return wider.points()

    def points(self, first: int = 0) -> BinnedPoints:
        """From a bin on."""
        held = np.flatnonzero(self._count[first:]) + first
        count = self._count[held]
        return BinnedPoints(
            self._steps[held] / count, self._values[held] / count, self._low[held], self._high[held], count
        )

    def points_before(self, first: int) -> int:
        """How many points lie before a bin."""
        return int(np.count_nonzero(self._count[:first]))

    def _widen(self, step: float) -> bool:
        before = self.width
        while step >= self.width * self._bins:
            self._join()
        return self.width != before

    def _join(self) -> None:
        half = self._bins // 2
        for column, join, empty in (
            (self._count, np.add, 0.0),
            (self._steps, np.add, 0.0),
            (self._values, np.add, 0.0),
            (self._low, np.minimum, np.inf),
            (self._high, np.maximum, -np.inf),
        ):
            column[:half] = join(column[0::2], column[1::2])
            column[half:] = empty
        self.width *= 2
