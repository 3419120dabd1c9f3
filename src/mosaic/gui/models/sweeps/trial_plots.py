"""What the plots of a sweep draw, as numbers: values over trials, settings on axes, a setting against the value."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mosaic.gui.models.wording import thousands
from mosaic.numbers import show_number
from mosaic.spec.setting_values import shown
from mosaic.sweep.space import Dimension, Value, forth
from mosaic.sweep.sweep_state import SweepState, Trial, sort_key


@dataclass(frozen=True)
class Point:
    """A trial in a plot."""

    trial: int
    x: float
    """0 to 1."""
    y: float
    """0 to 1, more is better or higher."""
    state: str
    text: str
    """What the tool tip says."""


@dataclass(frozen=True)
class Line:
    """A trial across all axes."""

    trial: int
    places: tuple[float | None, ...]
    """On each axis, 0 to 1; None where the value lies outside."""
    rank: float
    """0 is the worst, 1 the best."""
    state: str


@dataclass(frozen=True)
class Axis:
    title: str
    low: str
    high: str
    marks: tuple[tuple[float, str], ...] = ()
    """Of choices: where each stands."""


@dataclass(frozen=True)
class Parallel:
    axes: Sequence[Axis]
    lines: Sequence[Line]


@dataclass(frozen=True)
class Plot:
    """Points, the limits of both axes, and for a history the best so far."""

    points: Sequence[Point] = ()
    x_axis: Axis = Axis("", "", "")
    y_axis: Axis = Axis("", "", "")
    best: Sequence[tuple[float, float]] = ()


def history(state: SweepState) -> Plot:
    """The value of each trial, and the best so far as a line of steps."""
    shown_trials = [trial for trial in state.trials if trial.shown_value is not None]
    if not shown_trials:
        return Plot()
    low, high = limits([trial.shown_value or 0.0 for trial in shown_trials])
    last = max(len(state.trials) - 1, 1)
    points = [
        _point(state, trial, trial.number / last, _share(trial.shown_value or 0.0, low, high)) for trial in shown_trials
    ]
    best: list[tuple[float, float]] = []
    ahead = math.inf
    for trial in state.trials:
        if trial.value is not None and sort_key(trial.value, state.plan.goal) < ahead:
            ahead = sort_key(trial.value, state.plan.goal)
            best.append((trial.number / last, _share(trial.value, low, high)))
    if best:
        best.append((1.0, best[-1][1]))
    return Plot(points, Axis("trial", "0", str(last)), _value_axis(state, low, high), best)


def scatter(state: SweepState, dimension: Dimension) -> Plot:
    """One setting against the value."""
    found = [(trial, place(dimension, trial.params.get(dimension.name)), trial.shown_value) for trial in state.trials]
    inside = [(trial, x, value) for trial, x, value in found if x is not None and value is not None]
    if not inside:
        return Plot()
    low, high = limits([value for _, _, value in inside])
    points = [_point(state, trial, x, _share(value, low, high), dimension) for trial, x, value in inside]
    return Plot(points, axis_of(dimension), _value_axis(state, low, high))


def parallel(state: SweepState) -> Parallel:
    """Every trial as a line through its settings to its value; the best ones are drawn last."""
    found = [trial for trial in state.trials if trial.shown_value is not None]
    if not found:
        return Parallel((), ())
    low, high = limits([trial.shown_value or 0.0 for trial in found])
    order = sorted(found, key=lambda trial: sort_key(trial.shown_value or 0.0, state.plan.goal), reverse=True)
    last = max(len(order) - 1, 1)
    lines = [
        Line(
            trial.number,
            (
                *(place(one, trial.params.get(one.name)) for one in state.plan.space),
                _share(trial.shown_value or 0.0, low, high),
            ),
            at / last,
            trial.state,
        )
        for at, trial in enumerate(order)
    ]
    return Parallel([*map(axis_of, state.plan.space), _value_axis(state, low, high)], lines)


def place(dimension: Dimension, value: Value) -> float | None:
    """Where a value stands on the scale of its setting, 0 to 1; None for one that has no place there."""
    if dimension.choices:
        if not dimension.contains(value):
            return None
        return dimension.choices.index(value) / (len(dimension.choices) - 1)
    near = dimension.nearest(value)
    if not isinstance(near, (int, float)):
        return None
    scale = forth(dimension.scale)
    return _share(scale(near), scale(dimension.low), scale(dimension.high))


def axis_of(dimension: Dimension) -> Axis:
    title = dimension.name.replace("_", " ")
    if dimension.choices:
        last = len(dimension.choices) - 1
        marks = tuple((at / last, shown(one)) for at, one in enumerate(dimension.choices))
        return Axis(title, marks[0][1], marks[-1][1], marks)
    return Axis(title, show_number(dimension.low), show_number(dimension.high))


def limits(values: Sequence[float]) -> tuple[float, float]:
    """With a little room; of one value a range around it."""
    low, high = min(values), max(values)
    room = (high - low) * 0.05 or max(abs(low) * 0.05, 0.5)
    return low - room, high + room


def _value_axis(state: SweepState, low: float, high: float) -> Axis:
    title = state.plan.metric.rsplit("/", 1)[-1].replace("_", " ")
    return Axis(title, thousands(float(f"{low:.3g}")), thousands(float(f"{high:.3g}")))


def _share(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high > low else 0.5


def _point(state: SweepState, trial: Trial, x: float, y: float, dimension: Dimension | None = None) -> Point:
    name = "default settings" if trial.number == 0 else f"trial {trial.number}"
    setting = f"\n{dimension.name} {shown(trial.params.get(dimension.name))}" if dimension is not None else ""
    return Point(
        trial.number, x, y, trial.state, f"{name}, {trial.state}: {trial.shown_value:.4g}{state.plan.of_seeds}{setting}"
    )
