"""The figures of `mosaic stats`: curves, scores in each environment, profiles, improvement, and all environments."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mosaic.cli.statistics.figure_style import (
    BAND,
    STYLES,
    Ground,
    Style,
    dress,
    name_curves,
    new_figure,
    steps_text,
)
from mosaic.cli.statistics.group_statistics import Line, Statistics
from mosaic.cli.statistics.run_scores import ScoredGroup
from mosaic.cli.terminal.printing import clean
from mosaic.statistics.enough_seeds import FEWEST, trust
from mosaic.statistics.intervals import Interval, Tasks
from mosaic.statistics.sample_efficiency import WINDOW, smoothed
from mosaic.statistics.score_profile import profile, thresholds_of
from mosaic.statistics.seed_curves import interpolated, summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KNOTS = 200
PANEL = 4.2
"""Inches of the width of a panel."""
MOST_COLUMNS = 3
_WORDS = {"none": ", no interval", "rough": ", rough", "plain": ""}


def figures_of(found: Statistics, ground: Ground) -> "Mapping[str, Figure]":
    """By the name of the file."""
    style = STYLES[ground]
    made: dict[str, Figure] = {}
    if any(line.group.is_training for line in found.lines):
        made["curves"] = _curves(found, style)
    made["scores"] = _scores(found, style)
    made["profiles"] = _profiles(found, style)
    if len(found.names) > 1:
        made["improvement"] = _improvement(found, style)
    if found.overall:
        made["overall"] = _overall(found, style)
    return made


def counted(name: str, n: int) -> str:
    """A name with its n, and what to think of so few."""
    said = {"none": ", every seed", "rough": ", rough", "plain": ""}[trust(n)]
    return f"{_short(name)} (n = {n}{said})"


def _short(name: str) -> str:
    name = clean(name)
    # matplotlib takes what stands between two dollar signs for a formula.
    return (name if len(name) <= 40 else f"{name[:39]}…").replace("$", r"\$")


def _environments(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(line.group.env_id for line in lines))


def _panels(count: int, height: float, style: Style) -> "tuple[Figure, list[Axes]]":
    columns = min(count, MOST_COLUMNS)
    rows = math.ceil(count / columns)
    figure = new_figure(max(PANEL * columns, 5.5), height * rows + 0.5, style)
    every = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for spare in every[count:]:
        spare.set_visible(False)
    return figure, every[:count]


def _curves(found: Statistics, style: Style) -> "Figure":
    lines = [line for line in found.lines if line.group.is_training]
    environments = _environments(lines)
    figure, panels = _panels(len(environments), 3.1, style)
    for place, (axes, env_id) in enumerate(zip(panels, environments, strict=True)):
        y = f"return, mean of {WINDOW} episodes" if place % MOST_COLUMNS == 0 else ""
        dress(axes, style, title=env_id, x="environment steps", y=y)
        axes.xaxis.set_major_formatter(steps_text)
        for line in lines:
            if line.group.env_id == env_id:
                colour = style.colour(found.names.index(line.group.name))
                _draw_curve(axes, line.group, colour)
        axes.margins(x=0.01)
    _name_groups(figure, found, style)
    return figure


def _draw_curve(axes: "Axes", group: ScoredGroup, colour: str) -> None:
    # From where every seed has a value to where the first one ends: beyond, a curve of fewer seeds would leap.
    start = max(float(run.steps[0]) for run in group.runs)
    knots = np.linspace(min(start, group.end), group.end, KNOTS)
    values = np.stack([interpolated(run.steps, smoothed(run.returns), knots) for run in group.runs])
    made = summary(values, "IQM")
    few = made.count < FEWEST
    for seed in values:
        axes.plot(knots, np.where(few, seed, np.nan), color=colour, linewidth=0.8, alpha=0.5)
    axes.fill_between(knots, made.bottom, made.top, color=colour, alpha=BAND, linewidth=0)
    axes.plot(knots, made.middle, color=colour, linewidth=2.0)


def _name_groups(figure: "Figure", found: Statistics, style: Style) -> None:
    """A legend of the groups, with the n of each; where it differs between environments, from the lowest on."""
    from matplotlib.lines import Line2D

    handles: list[Line2D] = []
    for place, name in enumerate(found.names):
        numbers = sorted({line.n for line in found.lines if line.group.name == name})
        label = counted(name, numbers[0])
        if len(numbers) > 1:
            label = label.replace(f"n = {numbers[0]}", f"n = {numbers[0]} to {numbers[-1]}")
        handles.append(Line2D([], [], color=style.colour(place), linewidth=2.5, label=label))
    name_curves(figure, handles, style)


def _scores(found: Statistics, style: Style) -> "Figure":
    """A bar from one limit of the IQM to the other, the IQM in it, and every seed as a dot."""
    environments = _environments(found.lines)
    most = max(sum(line.group.env_id == env_id for line in found.lines) for env_id in environments)
    figure, panels = _panels(len(environments), 0.9 + 0.42 * most, style)
    for axes, env_id in zip(panels, environments, strict=True):
        lines = [line for line in found.lines if line.group.env_id == env_id]
        what = "return of the last episodes" if lines[0].group.is_training else "return of an evaluation"
        dress(axes, style, title=env_id, x=f"{what}: IQM, 95 %")
        rows = [(counted(line.group.name, line.n), line.iqm, found.names.index(line.group.name)) for line in lines]
        _draw_bars(axes, rows, style)
        for height, line in enumerate(lines):
            axes.plot(line.group.scores, [height] * line.n, "o", markersize=3, color=style.ink, alpha=0.55, zorder=4)
    return figure


def _draw_bars(axes: "Axes", rows: Sequence[tuple[str, Interval, int]], style: Style) -> None:
    from matplotlib.ticker import MaxNLocator

    for height, (_, interval, colour) in enumerate(rows):
        if interval.is_known:
            width = interval.high - interval.low
            axes.barh(height, width, left=interval.low, height=0.6, color=style.colour(colour), alpha=0.75, zorder=2)
        axes.plot([interval.value] * 2, [height - 0.3, height + 0.3], color=style.ink, linewidth=2, zorder=3)
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(False, axis="y")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    # A bar would else end at the edge of the panel, as if it were cut off.
    axes.use_sticky_edges = False
    axes.margins(x=0.08)


def _profiles(found: Statistics, style: Style) -> "Figure":
    panels_of: list[tuple[str, str, list[tuple[str, Tasks]]]] = []
    if found.overall:
        across = f"{len(found.environments)} environments"
        panels_of.append((across, "normalised score τ", [(one.name, one.tasks) for one in found.overall]))
    else:
        for env_id in _environments(found.lines):
            own = [line.group for line in found.lines if line.group.env_id == env_id]
            panels_of.append((env_id, "return τ", [(group.name, [group.scores]) for group in own]))
    figure, panels = _panels(len(panels_of), 3.1, style)
    for place, (axes, (title, x, groups)) in enumerate(zip(panels, panels_of, strict=True)):
        y = "share of runs with more than τ" if place % MOST_COLUMNS == 0 else ""
        dress(axes, style, title=title, x=x, y=y)
        thresholds = thresholds_of([tasks for _, tasks in groups])
        for name, tasks in groups:
            colour, made = style.colour(found.names.index(name)), profile(tasks, thresholds)
            axes.fill_between(thresholds, made.low, made.high, color=colour, alpha=BAND, linewidth=0, step="mid")
            axes.plot(thresholds, made.share, color=colour, linewidth=2.0, drawstyle="steps-mid")
        axes.set_ylim(-0.03, 1.03)
        axes.margins(x=0)
    _name_groups(figure, found, style)
    return figure


def _improvement(found: Statistics, style: Style) -> "Figure":
    """In each environment, and over all of them."""
    first = found.names[0]
    rows: list[tuple[str, Interval, int]] = []
    for line in found.lines:
        if line.improvement is not None and (against := found.first_in(line.group.env_id)) is not None:
            few = _WORDS[trust(min(line.n, against.n))]
            label = f"{_short(line.group.name)}, {line.group.env_id} (n = {line.n} and {against.n}{few})"
            rows.append((label, line.improvement, found.names.index(line.group.name)))
    for one in found.overall[1:]:
        if one.improvement is not None:
            few = _WORDS[trust(min(one.n, found.overall[0].n))]
            label = f"{_short(one.name)}, all environments (n ≥ {one.n} and {found.overall[0].n}{few})"
            rows.append((label, one.improvement, found.names.index(one.name)))
    figure = new_figure(7.0, 1.3 + 0.42 * max(len(rows), 1), style)
    axes = figure.subplots()
    # Above the names too: beside a wide column of them the panel is narrower than this.
    title = f"Probability that a run scores more than one of {_short(first)}"
    figure.suptitle(title, color=style.ink, fontsize=11, x=0.02, ha="left")
    dress(axes, style, x="probability, 95 %")
    _draw_bars(axes, rows, style)
    axes.axvline(0.5, color=style.faint, linestyle="--", linewidth=1, zorder=1)
    axes.set_xlim(-0.02, 1.02)
    return figure


def _overall(found: Statistics, style: Style) -> "Figure":
    names = ("IQM", "median", "mean", "optimality gap")
    figure = new_figure(11.0, 1.5 + 0.42 * len(found.overall), style)
    for axes, name in zip(figure.subplots(1, 4, sharey=True), names, strict=True):
        dress(axes, style, title=name, x="normalised score")
        rows = [
            (counted(one.name, one.n), getattr(one, "gap" if name == "optimality gap" else name.lower()), place)
            for place, one in enumerate(found.overall)
        ]
        _draw_bars(axes, rows, style)
    return figure
