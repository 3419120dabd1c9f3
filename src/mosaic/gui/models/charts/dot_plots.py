"""What plots of dots and parallel coordinates draw, as shares of their axes: of the trials of a sweep, or of runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from mosaic.gui.models.wording import thousands


@dataclass(frozen=True)
class Point:
    """A trial, or a run, in a plot."""

    x: float
    """0 to 1."""
    y: float
    """0 to 1, more is better or higher."""
    text: str
    """What the tool tip says."""
    state: str = "finished"
    colour: int | None = None
    """Place in the table of curve colours: that of the run; None is the colour of its state."""
    is_default: bool = False
    """The default settings, which the others are compared with."""
    run_id: str = ""


@dataclass(frozen=True)
class Line:
    """A trial, or a run, across all axes."""

    places: tuple[float | None, ...]
    """On each axis, 0 to 1; None where it has no value, or one outside."""
    rank: float = 1.0
    """0 is the worst, 1 the best."""
    state: str = "finished"
    colour: int | None = None
    is_default: bool = False
    text: str = ""
    """What the tool tip says; empty where the tool tip is about the axis."""
    run_id: str = ""


@dataclass(frozen=True)
class Axis:
    title: str
    low: str
    high: str
    marks: tuple[tuple[float, str], ...] = ()
    """Of choices: where each stands."""


@dataclass(frozen=True)
class Parallel:
    axes: Sequence[Axis] = ()
    lines: Sequence[Line] = ()


@dataclass(frozen=True)
class Plot:
    """Points, the limits of both axes, and for a history the best so far."""

    points: Sequence[Point] = ()
    x_axis: Axis = Axis("", "", "")
    y_axis: Axis = Axis("", "", "")
    best: Sequence[tuple[float, float]] = ()


def limits(values: Sequence[float]) -> tuple[float, float]:
    """With a little room; of one value a range around it."""
    low, high = min(values), max(values)
    room = (high - low) * 0.05 or max(abs(low) * 0.05, 0.5)
    return low - room, high + room


def share_of(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high > low else 0.5


def number_axis(title: str, low: float, high: float) -> Axis:
    return Axis(title, thousands(float(f"{low:.3g}")), thousands(float(f"{high:.3g}")))
