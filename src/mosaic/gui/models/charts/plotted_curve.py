"""A curve as a chart sees it: one run, or the seeds of a group as one; it knows what is drawn of it at each zoom.

A line is the values of a series, smoothed, perhaps as logarithms, and followed as the series grows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mosaic.gui.models.charts.seed_summary import Middle, Summary, interpolated, note_of, summary
from mosaic.gui.models.charts.series import (
    Column,
    GrowingColumns,
    Reduced,
    Series,
    drawn_at,
    extremes,
    in_view,
    lowest_and_highest,
    reduced,
    trailing_mean,
)
from mosaic.statistics.enough_seeds import FEWEST

BLOCK = 32
"""Values whose lowest and highest are remembered: of a million points, a chart then looks at 60,000."""


@dataclass(frozen=True)
class Drawn:
    """Points for the screen, in the units of the axis; a gap is a NaN."""

    line: Reduced
    behind: Reduced | None = None
    """The values before smoothing."""
    band: Sequence[Column] = ()
    """Its lower and upper edge, at the x of the line; NaN where there is none."""
    each: Reduced | None = None
    """Every seed, with a gap behind each, where too few seeds have a value for a band."""


@dataclass(frozen=True)
class Fall:
    """A seed ends before the others: from here on there are n of them."""

    x: float
    y: float
    n: int


class Plotted(Protocol):
    """What a chart asks of a curve."""

    name: str
    colour: int
    """Place in the table of curve colours."""

    @property
    def note(self) -> str:
        """What the legend says beside the name."""
        ...

    @property
    def faults(self) -> Sequence[str]:
        """What of it cannot be shown, for people."""
        ...

    def drawn(self, low: float, high: float, columns: int, *, with_raw: bool = True) -> Drawn: ...

    def at(self, x: float) -> tuple[float, int]:
        """Value (NaN outside the curve) and number of seeds there."""
        ...

    def falls(self) -> Sequence[Fall]: ...


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
        self._y = GrowingColumns(1, np.float64)
        self._blocks = GrowingColumns(2, np.int64)
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


class RunCurve:
    """One run: smoothed in front, and its values behind if they differ."""

    def __init__(self, name: str, colour: int, x: Column, line: Line, raw: Line | None) -> None:
        self.name, self.colour = name, colour
        self._x, self._line, self._raw = x, line, raw
        self.note = ""

    @property
    def faults(self) -> Sequence[str]:
        return _faults(self.name, [self._line])

    def drawn(self, low: float, high: float, columns: int, *, with_raw: bool = True) -> Drawn:
        behind = self._raw.reduced(self._x, low, high, columns) if self._raw and with_raw else None
        return Drawn(self._line.reduced(self._x, low, high, columns), behind)

    def at(self, x: float) -> tuple[float, int]:
        own, y = _points(self._x, self._line)
        if not len(own) or not own[0] <= x <= own[-1]:
            return float("nan"), 1
        place = int(np.searchsorted(own, x))
        if place and x - own[place - 1] <= own[place] - x:
            place -= 1
        value = float(y[place])
        return (10**value if self._line.log else value), 1

    def falls(self) -> Sequence[Fall]:
        return ()


class SeedsCurve:
    """The seeds of a group as one curve with a band, below five seeds with each of them in its place.

    `mosaic.statistics.seed_curves` says how.
    """

    def __init__(self, name: str, colour: int, seeds: Sequence[tuple[Column, Line]], middle: Middle, log: bool) -> None:
        self.name, self.colour = name, colour
        self._seeds = seeds
        """x and line of each, never logarithmic: it is the mean that is shown so."""
        self._middle: Middle = middle
        self._log = log

    @property
    def note(self) -> str:
        return note_of(self._middle, len(self._seeds))

    @property
    def faults(self) -> Sequence[str]:
        return _faults(self.name, [line for _, line in self._seeds])

    def drawn(self, low: float, high: float, columns: int, *, with_raw: bool = True) -> Drawn:  # noqa: ARG002
        # All seeds together have about as many knots as the chart has columns: more would not be seen.
        share = max(columns // (2 * len(self._seeds)), 8)
        knots = np.unique(np.concatenate([line.reduced(x, low, high, share).x for x, line in self._seeds]))
        values = self._values(knots)
        found = summary(values, self._middle)
        edges = [found.bottom, found.top]
        middle = found.middle
        if self._log:
            lowest = np.min(middle, where=middle > 0, initial=np.inf)
            # Where mean minus deviation is not positive, the band reaches down to the lowest value of the curve.
            edges = [_log10(np.where((edge > 0) | np.isnan(edge), edge, np.fmin(lowest, middle))) for edge in edges]
            middle = _log10(middle)
        return Drawn(Reduced(knots, middle), band=edges, each=self._each(knots, values, found))

    def _each(self, knots: Column, values: NDArray[np.float64], found: Summary) -> Reduced | None:
        few = (found.count > 0) & (found.count < FEWEST)
        if not few.any():
            return None
        # The knots beside them too, so that a seed goes on from where the band ends.
        few |= np.concatenate([few[1:], [False]]) | np.concatenate([[False], few[:-1]])
        shown = np.where(few, values, np.nan)
        shown = np.concatenate([shown, np.full((len(shown), 1), np.nan)], axis=1).ravel()
        x = np.tile(np.append(knots, knots[-1]), len(values))
        return Reduced(x, _log10(shown) if self._log else shown)

    def at(self, x: float) -> tuple[float, int]:
        found = self._summary(np.array([x]))
        return float(found.middle[0]), int(found.count[0])

    def falls(self) -> Sequence[Fall]:
        ends = sorted(float(x[-1]) for x, _ in self._seeds)
        falls: list[Fall] = []
        for end in sorted(set(ends))[:-1]:
            middle = float(self._summary(np.array([end])).middle[0])
            y = float(_log10(np.array([middle]))[0]) if self._log else middle
            if np.isfinite(y):
                falls.append(Fall(end, y, sum(other > end for other in ends)))
        return falls

    def _summary(self, knots: Column) -> Summary:
        return summary(self._values(knots), self._middle)

    def _values(self, knots: Column) -> NDArray[np.float64]:
        return np.stack([interpolated(*_points(*seed), knots) for seed in self._seeds])


def _points(x: Column, line: Line) -> tuple[Column, Column]:
    """Those that both have: the line goes on with its series."""
    return x, line.y[: len(x)]


def _log10(values: Column) -> Column:
    return np.log10(values, where=values > 0, out=np.full(len(values), np.nan))


def _faults(name: str, lines: Sequence[Line]) -> Sequence[str]:
    faults: list[str] = []
    if missing := sum(line.missing for line in lines):
        faults.append(f"{name}: {missing:,} {'value is' if missing == 1 else 'values are'} not finite, shown as gaps")
    if hidden := sum(line.not_positive for line in lines):
        faults.append(f"{name}: {hidden:,} {'value' if hidden == 1 else 'values'} ≤ 0, not shown on a log axis")
    return faults
