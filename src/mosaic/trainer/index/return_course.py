"""The returns of a run as lists show them: the mean of the last ones, the best of these means, points of its course."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Annotated

from annotated_types import Ge

from mosaic.spec.events import Number, Step, number

POINTS = 48
LAST = 100
"""Returns of which the mean is shown."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """How it stood after so many returns."""

    taken: Step
    mean: Number
    best: Number | None


@dataclass(frozen=True, kw_only=True)
class CourseState:
    """A course, as the cursor of a run keeps it."""

    taken: Step = 0
    """Returns so far."""
    last: tuple[Number, ...] = ()
    """The newest of them."""
    best: Number | None = None
    """Highest of their means."""
    points: tuple[Point, ...] = ()
    """The course of their mean."""
    stride: Annotated[int, Ge(1)] = 1
    """Returns between two of these points."""
    skip: Step = 0
    """Returns since the last point."""


@dataclass
class ReturnCourse:
    taken: int = 0
    best: float | None = None
    _last: deque[float] = field(default_factory=lambda: deque[float](maxlen=LAST))
    _points: list[Point] = field(default_factory=list[Point])
    _stride: int = 1
    _skip: int = 0

    @property
    def mean(self) -> float | None:
        return _mean(self._last) if self._last else None

    @property
    def sparkline(self) -> tuple[float, ...]:
        every_second = self._points[::2] if len(self._points) > POINTS else self._points
        return tuple(float(point.mean) for point in every_second)

    def take(self, value: float) -> None:
        self._last.append(value)
        self.taken += 1
        self._skip += 1
        mean = _mean(self._last)
        # One that is not a number is above nothing.
        if mean > self.best if self.best is not None else mean == mean:
            self.best = mean
        if self._skip >= self._stride:
            self._skip = 0
            best = None if self.best is None else number(self.best)
            self._points.append(Point(taken=self.taken, mean=number(mean), best=best))
            if len(self._points) >= 2 * POINTS:
                # The newest stays, so that the points go on at equal distances.
                self._points = self._points[1::2]
                self._stride *= 2

    def forget_last(self) -> None:
        """The next mean is of what comes."""
        self._last.clear()

    def first_needed(self, taken: int) -> int:
        """Of the returns that `rewind` to so many needs, the first."""
        before = max((point.taken for point in self._points if point.taken <= taken), default=0)
        return max(0, before - LAST)

    def rewind(self, taken: int, values: Sequence[float]) -> None:
        """Be as after so many returns; `values` are those from `first_needed` on."""
        first = self.first_needed(taken)
        self._points = [point for point in self._points if point.taken <= taken]
        newest = self._points[-1] if self._points else Point(taken=0, mean=0.0, best=None)
        self.taken, self._skip = newest.taken, 0
        self.best = None if newest.best is None else float(newest.best)
        self._last.clear()
        self._last.extend(values[: newest.taken - first])
        for value in values[newest.taken - first : taken - first]:
            self.take(value)

    def state(self) -> CourseState:
        return CourseState(
            taken=self.taken,
            last=tuple(number(value) for value in self._last),
            best=None if self.best is None else number(self.best),
            points=tuple(self._points),
            stride=self._stride,
            skip=self._skip,
        )

    def restore(self, state: CourseState) -> None:
        self.taken, self._points = state.taken, list(state.points)
        self.best = None if state.best is None else float(state.best)
        self._last.clear()
        self._last.extend(float(value) for value in state.last)
        self._stride, self._skip = state.stride, state.skip


def _mean(values: deque[float]) -> float:
    try:
        return fsum(values) / len(values)
    except (OverflowError, ValueError):  # The sum of huge returns, or of both infinities.
        return sum(values) / len(values)
