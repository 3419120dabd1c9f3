"""The values of a series as a line on a chart: smoothed, perhaps as logarithms, and followed as the series grows."""

import numpy as np
from numpy.typing import NDArray

from mosaic.gui.models.growing import Growing
from mosaic.gui.models.series import (
    Column,
    Reduced,
    Series,
    drawn_at,
    extremes,
    in_view,
    lowest_and_highest,
    reduced,
    trailing_mean,
)

BLOCK = 32
"""Values whose lowest and highest are remembered: of a million points, a chart then looks at 60,000."""


class Line:
    """`y` has a value for each point of the series; a point that is not finite is a NaN, and so is a gap.

    On a logarithmic axis `y` is the decimal logarithm, and what is not positive is a gap too.
    """

    def __init__(self, series: Series, window: int = 1, *, log: bool = False) -> None:
        self.series, self.window, self.log = series, window, log
        self.missing = 0
        """Values that are not finite."""
        self.not_positive = 0
        """Finite values that a logarithmic axis cannot show."""
        self._y = Growing(1, np.float64)
        self._blocks = Growing(2, np.int64)
        self._length = 0

    @property
    def y(self) -> Column:
        return self.series.values[: self._length] if self._is_plain else self._y.row(0)

    @property
    def _is_plain(self) -> bool:
        return self.window <= 1 and not self.log

    def update(self) -> bool:
        """Take in what the series has got since the last time; only that is computed. False if that is nothing."""
        begin, end = self._length, len(self.series)
        if begin == end:
            return False
        new = self.series.values[begin:end]
        finite = np.isfinite(new)
        self.missing += len(new) - int(finite.sum())
        if not self._is_plain:
            self._y.extend(self._made_of(begin, end, finite))
        self._length = end
        done, whole = len(self._blocks) * BLOCK, end // BLOCK * BLOCK
        if done < whole:
            self._blocks.extend(*(lowest_and_highest(self.y[done:whole], BLOCK) + done).T)
        return True

    def _made_of(self, begin: int, end: int, finite: NDArray[np.bool_]) -> Column:
        before = max(begin - self.window + 1, 0)
        y = trailing_mean(self.series.values[before:end], self.window)[begin - before :]
        y = np.where(finite, y, np.nan)
        if not self.log:
            return y
        self.not_positive += int((y <= 0).sum())
        return np.log10(y, where=y > 0, out=np.full(len(y), np.nan))

    def reduced(self, x: Column, low: float, high: float, columns: int) -> Reduced:
        """As `series.reduced`, whose work it spares by the blocks; `x` is that of the series' points."""
        y = self.y
        x = x[: len(y)]
        first, last = in_view(x, low, high)
        if last - first <= 4 * BLOCK * columns:
            return reduced(x, y, low, high, columns)
        begin, end = -(-first // BLOCK), last // BLOCK
        inner = np.stack([self._blocks.row(0)[begin:end], self._blocks.row(1)[begin:end]], axis=1).ravel()
        places = np.concatenate([np.arange(first, begin * BLOCK), inner, np.arange(end * BLOCK, last)])
        return drawn_at(x, y, places[extremes(y[places], columns)])
