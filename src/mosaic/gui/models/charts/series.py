"""The curves of the opened runs with all their points, and what is drawn of one: a mean, two points a pixel column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from mosaic.gui.models.daemon.news import NewPoints, Points

Column: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.int64]
T = TypeVar("T", np.float64, np.int64)
_FIRST = (
    "charts/episodic_return",
    "charts/shaped_return",
    "eval/mean_return",
    "losses/entropy",
    "losses/value_loss",
    "losses/policy_loss",
    "losses/td_loss",
    "charts/SPS",
    "charts/episodic_length",
)
"""Tags that users look at first; the others follow by name."""


class GrowingColumns(Generic[T]):
    """A table of a few rows; what was handed out stays as it was when more is added."""

    def __init__(self, rows: int, dtype: type[T]) -> None:
        self._rows, self._dtype = rows, dtype
        self._data: NDArray[T] = np.empty((rows, 256), dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def row(self, index: int) -> NDArray[T]:
        return self._data[index, : self._length]

    def extend(self, *rows: object) -> None:
        """Add to each row; all by as much."""
        added = np.asarray(rows, self._dtype)
        end = self._length + added.shape[1]
        if end > self._data.shape[1]:
            grown = np.empty((self._rows, max(end, 2 * self._data.shape[1])), self._dtype)
            grown[:, : self._length] = self._data[:, : self._length]
            self._data = grown
        self._data[:, self._length : end] = added
        self._length = end


class Series:
    """Steps, times and values of one tag of one run; only grows, and what was handed out stays as it was."""

    def __init__(self) -> None:
        self._data = GrowingColumns(3, np.float64)

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


class Curves:
    """Run to tag to series."""

    def __init__(self) -> None:
        self._runs: dict[str, dict[str, Series]] = {}
        self._began: dict[str, float] = {}

    def take(self, news: NewPoints) -> None:
        if news.anew:
            self.drop(news.run_id)
        tags = self._runs.setdefault(news.run_id, {})
        for tag, points in news.points.items():
            tags.setdefault(tag, Series()).extend(points)
            if len(points.times):
                first = float(points.times[0])
                self._began[news.run_id] = min(first, self._began.get(news.run_id, first))

    def drop(self, run_id: str) -> None:
        self._runs.pop(run_id, None)
        self._began.pop(run_id, None)

    def keep(self, run_ids: Sequence[str]) -> None:
        """Forget all other runs."""
        for run_id in [run_id for run_id in self._runs if run_id not in run_ids]:
            self.drop(run_id)

    def get(self, run_id: str, tag: str) -> Series | None:
        return self._runs.get(run_id, {}).get(tag)

    def began(self, run_id: str) -> float:
        """Time of the run's first point, of any tag."""
        return self._began.get(run_id, 0.0)

    def tags(self) -> list[str]:
        found = {tag for tags in self._runs.values() for tag in tags}
        return sorted(found, key=lambda tag: (_FIRST.index(tag) if tag in _FIRST else len(_FIRST), tag))


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
