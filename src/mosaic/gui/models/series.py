"""A curve with all its points, and what is drawn of it: a mean over a window, and two points a pixel column."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mosaic.gui.models.batch import Points

Column: TypeAlias = NDArray[np.float64]


class Series:
    """Steps, times and values of one tag of one run; grows at the end, and is cut when a run is resumed."""

    def __init__(self) -> None:
        self._data = np.empty((3, 256))
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def steps(self) -> Column:
        return self._data[0, : self._length]

    @property
    def times(self) -> Column:
        return self._data[1, : self._length]

    @property
    def values(self) -> Column:
        return self._data[2, : self._length]

    def extend(self, points: Points) -> None:
        end = self._length + len(points.steps)
        if end > self._data.shape[1]:
            grown = np.empty((3, max(end, 2 * self._data.shape[1])))
            grown[:, : self._length] = self._data[:, : self._length]
            self._data = grown
        self._data[:, self._length : end] = points.steps, points.times, points.values
        self._length = end

    def cut_after(self, step: float) -> None:
        """Forget the points after a step; the arrays that were handed out stay as they are."""
        kept = self.steps <= step
        data = self._data[:, : self._length][:, kept]
        self._length = data.shape[1]
        self._data = np.ascontiguousarray(data) if self._length else np.empty((3, 256))


def trailing_mean(values: Column, window: int) -> Column:
    """Mean of the last `window` values at each point, of fewer at the beginning; what is not finite is left out."""
    if window <= 1 or len(values) == 0:
        return values
    finite = np.isfinite(values)
    sums = np.cumsum(np.where(finite, values, 0.0))
    counts = np.cumsum(finite, dtype=np.float64)
    sums[window:], counts[window:] = sums[window:] - sums[:-window], counts[window:] - counts[:-window]
    with np.errstate(invalid="ignore"):
        return sums / counts


@dataclass(frozen=True)
class Reduced:
    """What is drawn of a curve."""

    x: Column
    y: Column


def reduced(x: Column, y: Column, low: float, high: float, columns: int) -> Reduced:
    """Lowest and highest point of each of `columns` between `low` and `high`, and one point beyond either end.

    Every extreme of the visible part is kept, so a zoom shows no peak that was not there before. `x` must not fall.
    """
    finite = np.isfinite(y)
    if not finite.all():
        x, y = x[finite], y[finite]
    first = max(int(np.searchsorted(x, low, side="left")) - 1, 0)
    last = min(int(np.searchsorted(x, high, side="right")) + 1, len(x))
    x, y = x[first:last], y[first:last]
    if len(x) <= 2 * columns:
        return Reduced(x, y)
    # Blocks of equal count, not of equal width: one numpy pass, and dense stretches keep their shape.
    block = -(-len(x) // columns)
    whole = len(x) // block * block
    blocks = y[:whole].reshape(-1, block)
    starts = np.arange(0, whole, block)
    pairs = np.stack([starts + blocks.argmin(axis=1), starts + blocks.argmax(axis=1)], axis=1)
    pairs.sort(axis=1)
    kept = np.unique(np.concatenate([[0], pairs.ravel(), np.arange(whole, len(x))[-2:], [len(x) - 1]]))
    return Reduced(x[kept], y[kept])
