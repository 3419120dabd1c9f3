"""What the plots of a sweep draw, as numbers: values over trials, settings on axes, a setting against the value."""

import math

from mosaic.gui.models.charts.dot_plots import Axis, Line, Parallel, Plot, Point, limits, number_axis, share_of
from mosaic.numbers import show_number
from mosaic.spec.setting_values import shown
from mosaic.sweep.space import Dimension, Value, forth
from mosaic.sweep.sweep_state import SweepState, Trial, sort_key


def history(state: SweepState) -> Plot:
    """The value of each trial, and the best so far as a line of steps."""
    shown_trials = [trial for trial in state.trials if trial.shown_value is not None]
    if not shown_trials:
        return Plot()
    low, high = limits([trial.shown_value or 0.0 for trial in shown_trials])
    last = max(len(state.trials) - 1, 1)
    points = [
        _point(state, trial, trial.number / last, share_of(trial.shown_value or 0.0, low, high))
        for trial in shown_trials
    ]
    best: list[tuple[float, float]] = []
    ahead = math.inf
    for trial in state.trials:
        if trial.value is not None and sort_key(trial.value, state.plan.goal) < ahead:
            ahead = sort_key(trial.value, state.plan.goal)
            best.append((trial.number / last, share_of(trial.value, low, high)))
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
    points = [_point(state, trial, x, share_of(value, low, high), dimension) for trial, x, value in inside]
    return Plot(points, axis_of(dimension), _value_axis(state, low, high))


def parallel(state: SweepState) -> Parallel:
    """Every trial as a line through its settings to its value; the best ones are drawn last."""
    found = [trial for trial in state.trials if trial.shown_value is not None]
    if not found:
        return Parallel()
    low, high = limits([trial.shown_value or 0.0 for trial in found])
    order = sorted(found, key=lambda trial: sort_key(trial.shown_value or 0.0, state.plan.goal), reverse=True)
    last = max(len(order) - 1, 1)
    lines = [
        Line(
            (
                *(place(one, trial.params.get(one.name)) for one in state.plan.space),
                share_of(trial.shown_value or 0.0, low, high),
            ),
            at / last,
            trial.state,
            is_default=trial.number == 0,
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
    return share_of(scale(near), scale(dimension.low), scale(dimension.high))


def axis_of(dimension: Dimension) -> Axis:
    title = dimension.name.replace("_", " ")
    if dimension.choices:
        last = len(dimension.choices) - 1
        marks = tuple((at / last, shown(one)) for at, one in enumerate(dimension.choices))
        return Axis(title, marks[0][1], marks[-1][1], marks)
    return Axis(title, show_number(dimension.low), show_number(dimension.high))


def _value_axis(state: SweepState, low: float, high: float) -> Axis:
    title = state.plan.metric.rsplit("/", 1)[-1].replace("_", " ")
    return number_axis(title, low, high)


def _point(state: SweepState, trial: Trial, x: float, y: float, dimension: Dimension | None = None) -> Point:
    name = "default settings" if trial.number == 0 else f"trial {trial.number}"
    setting = f"\n{dimension.name} {shown(trial.params.get(dimension.name))}" if dimension is not None else ""
    text = f"{name}, {trial.state}: {trial.shown_value:.4g}{state.plan.of_seeds}{setting}"
    return Point(x, y, text, trial.state, is_default=trial.number == 0)
