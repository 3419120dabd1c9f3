"""A curve with all its points, and what is drawn of it: a mean over a window, and two points a pixel column."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mosaic.gui.models.batch import Points
from mosaic.gui.models.growing import Growing

Column: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.int64]


class Series:
    """Steps, times and values of one tag of one run; only grows, and what was handed out stays as it was."""

    def __init__(self) -> None:
        self._data = Growing(3, np.float64)

    def __len__(self) -> int:
        return len(self._data)

    @property
    def steps(self) -> Column:
        return self._data.row(0)

    @property
    def times(self) -> Column:
        return self._data.row(1)

    @property
    def values(self) -> Column:
        return self._data.row(2)

    def extend(self, points: Points) -> None:
        self._data.extend(points.steps, points.times, points.values)


def trailing_mean(values: Column, window: int) -> Column:
    """Mean of the last `window` values at each point, of fewer at the beginning; what is not finite is left out."""
    if window <= 1 or len(values) == 0:
        return values
    finite = np.isfinite(values)
    sums = _trailing_sum(np.where(finite, values, 0.0), window)
    counts = _trailing_sum(finite.astype(np.float64), window)
    with np.errstate(invalid="ignore"):
        return sums / counts


def _trailing_sum(values: Column, window: int) -> Column:
    """Each sum is made of its own values only: with differences of one running sum, a loss that once exploded to 1e20
    would spoil every mean after it."""
    blocks = np.zeros(-(-len(values) // window) * window)
    blocks[: len(values)] = values
    blocks = blocks.reshape(-1, window)
    up_to = np.cumsum(blocks, axis=1).ravel()
    from_on = np.cumsum(blocks[:, ::-1], axis=1)[:, ::-1]
    # The window that ends at place k of a block has the values after place k of the block before.
    up_to[window:] += np.concatenate([from_on[:-1, 1:], np.zeros((len(blocks) - 1, 1))], axis=1).ravel()
    return up_to[: len(values)]


@dataclass(frozen=True)
class Reduced:
    """What is drawn of a curve; a gap is a NaN."""

    x: Column
    y: Column


def reduced(x: Column, y: Column, low: float, high: float, columns: int) -> Reduced:
    """Lowest and highest point of each of `columns` between `low` and `high`, and one point beyond either end.

    Every extreme of the visible part is kept, so a zoom shows no peak that was not there before. `x` must not fall.
    """
    first, last = in_view(x, low, high)
    return drawn_at(x, y, first + extremes(y[first:last], columns))


def in_view(x: Column, low: float, high: float) -> tuple[int, int]:
    """Where the visible part begins and ends, with one point beyond either end."""
    first = max(int(np.searchsorted(x, low, side="left")) - 1, 0)
    return first, min(int(np.searchsorted(x, high, side="right")) + 1, len(x))


def extremes(y: Column, columns: int) -> Places:
    """Places of the first and the last value, and of the lowest and highest of each of `columns` stretches.

    A stretch without any finite value gives one that is not: there is a gap.
    """
    if len(y) <= 2 * columns:
        return np.arange(len(y))
    # Stretches of equal count, not of equal width: one numpy pass, and dense parts keep their shape.
    stretch = -(-len(y) // columns)
    whole = len(y) // stretch * stretch
    pairs = lowest_and_highest(y[:whole], stretch)
    rest = lowest_and_highest(y[whole:], len(y) - whole) + whole if whole < len(y) else pairs[:0]
    places = np.concatenate([[0], pairs.ravel(), rest.ravel(), [len(y) - 1]])
    return places[np.diff(places, prepend=-1) > 0]


def lowest_and_highest(y: Column, stretch: int) -> Places:
    """Their places in each stretch, the one that comes first in front; the length must be a multiple."""
    low = high = y.reshape(-1, stretch)
    if not (finite := np.isfinite(low)).all():
        low, high = np.where(finite, low, np.inf), np.where(finite, high, -np.inf)
    starts = np.arange(0, len(y), stretch)
    pairs = np.stack([starts + low.argmin(axis=1), starts + high.argmax(axis=1)], axis=1)
    pairs.sort(axis=1)
    return pairs


def drawn_at(x: Column, y: Column, places: Places) -> Reduced:
    kept = y[places]
    return Reduced(x[places], np.where(np.isfinite(kept), kept, np.nan))
