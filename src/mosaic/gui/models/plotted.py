"""A curve as a chart sees it: one run, or the seeds of a group as one; it knows what is drawn of it at each zoom."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mosaic.gui.models.line import Line
from mosaic.gui.models.seeds import BANDS, Middle, Summary, interpolated, summary
from mosaic.gui.models.series import Column, Reduced


@dataclass(frozen=True)
class Drawn:
    """Points for the screen, in the units of the axis; a gap is a NaN."""

    line: Reduced
    behind: Reduced | None = None
    """The values before smoothing."""
    band: Sequence[Column] = ()
    """Its lower and upper edge, at the x of the line."""


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
    """The seeds of a group as one curve with a band; `models/seeds.py` says how."""

    def __init__(self, name: str, colour: int, seeds: Sequence[tuple[Column, Line]], middle: Middle, log: bool) -> None:
        self.name, self.colour = name, colour
        self._seeds = seeds
        """x and line of each, never logarithmic: it is the mean that is shown so."""
        self._middle: Middle = middle
        self._log = log

    @property
    def note(self) -> str:
        return f"{self._middle} {BANDS[self._middle]}, n = {len(self._seeds)}"

    @property
    def faults(self) -> Sequence[str]:
        return _faults(self.name, [line for _, line in self._seeds])

    def drawn(self, low: float, high: float, columns: int, *, with_raw: bool = True) -> Drawn:  # noqa: ARG002
        # All seeds together have about as many knots as the chart has columns: more would not be seen.
        share = max(columns // (2 * len(self._seeds)), 8)
        knots = np.unique(np.concatenate([line.reduced(x, low, high, share).x for x, line in self._seeds]))
        found = self._summary(knots)
        edges = [found.bottom, found.top]
        middle = found.middle
        if self._log:
            lowest = np.min(middle, where=middle > 0, initial=np.inf)
            # Where mean minus deviation is not positive, the band reaches down to the lowest value of the curve.
            edges = [_log10(np.where(edge > 0, edge, np.fmin(lowest, middle))) for edge in edges]
            middle = _log10(middle)
        return Drawn(Reduced(knots, middle), band=edges)

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
        return summary(np.stack([interpolated(*_points(*seed), knots) for seed in self._seeds]), self._middle)


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
