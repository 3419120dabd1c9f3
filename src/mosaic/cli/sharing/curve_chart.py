"""A chart as SVG that takes its colours from the page: curves of groups of runs, with their bands."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from mosaic.cli.sharing.html_page import text
from mosaic.cli.statistics.figure_style import BAND, STYLES, steps_text
from mosaic.statistics.enough_seeds import FEWEST
from mosaic.statistics.intervals import Column
from mosaic.statistics.sample_efficiency import smoothed
from mosaic.statistics.seed_curves import interpolated, summary

WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 12, 44
KNOTS = 240
TICKS = 7
COLOURS = len(STYLES["light"].colours)
"""Groups beyond so many have the same colours again, dashed."""


def _rules() -> str:
    light = "".join(f".c{place} {{ --c: {colour}; }} " for place, colour in enumerate(STYLES["light"].colours))
    dark = "".join(f".c{place} {{ --c: {colour}; }} " for place, colour in enumerate(STYLES["dark"].colours))
    return f"""
.charts {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 0 24px; }}
.chart text {{ fill: var(--ink); font: 11px system-ui, sans-serif; }} .chart {{ width: 100%; }}
.grid {{ stroke: var(--line); }} .axis {{ stroke: var(--faint); }}
.curve {{ fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; }}
.seed {{ fill: none; stroke: var(--c); stroke-width: 1; stroke-opacity: .5; }}
.band {{ fill: var(--c); fill-opacity: {BAND}; }} .dashed .curve {{ stroke-dasharray: 7 4; }}
.legend {{ display: flex; flex-wrap: wrap; gap: 4px 22px; padding: 0; list-style: none; font-size: 13px; }}
.legend svg {{ vertical-align: middle; margin-right: 7px; }}
{light}
@media (prefers-color-scheme: dark) {{ {dark} }}
"""


CSS = _rules()


@dataclass(frozen=True)
class SeedPoints:
    """What one run logged of a metric: finite values in the order of their steps."""

    steps: Column
    values: Column


@dataclass(frozen=True)
class GroupCurve:
    """The runs of a group in one chart, at common steps."""

    place: int
    """Of the group among all: its colour."""
    knots: Column
    middle: Column
    bottom: Column
    top: Column
    seeds: Sequence[Column]
    """Each run, where there are too few for a band; else none."""


def curve_of(place: int, runs: Sequence[SeedPoints]) -> GroupCurve:
    """The interquartile mean, from where every run has a value to where the first one ends, with its 95 % band."""
    start, end = max(float(run.steps[0]) for run in runs), min(float(run.steps[-1]) for run in runs)
    knots: Column = np.linspace(min(start, end), end, KNOTS)
    values = np.stack([interpolated(run.steps, smoothed(run.values), knots) for run in runs])
    made = summary(values, "IQM")
    few = made.count < FEWEST
    seeds = [np.where(few, seed, np.nan) for seed in values] if len(runs) > 1 and few.any() else []
    return GroupCurve(place, knots, made.middle, made.bottom, made.top, seeds)


def classes_of(place: int) -> str:
    """Of a group's drawings."""
    return f"c{place % COLOURS}" + (" dashed" if place // COLOURS % 2 else "")


def swatch(place: int) -> str:
    """The line beside a name."""
    return (
        f'<svg class="{classes_of(place)}" width="26" height="10" viewBox="0 0 26 10" aria-hidden="true">'
        '<path class="curve" d="M1 5H25"/></svg>'
    )


def chart(title: str, curves: Sequence[GroupCurve]) -> str:
    every = [part for one in curves for part in (one.middle, one.bottom, one.top, *one.seeds)]
    finite = np.concatenate([part[np.isfinite(part)] for part in every])
    if not len(finite):
        return ""
    frame = _Frame(
        float(min(one.knots[0] for one in curves)),
        float(max(one.knots[-1] for one in curves)),
        *_padded(float(finite.min()), float(finite.max())),
    )
    drawn = "".join(_drawn(one, frame) for one in reversed(curves))
    label = text(f"{title} over environment steps")
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{_axes(frame)}{drawn}</svg>'
    )


@dataclass(frozen=True)
class _Frame:
    """What stands at the edges."""

    first: float
    last: float
    low: float
    high: float

    def x(self, steps: Column) -> Column:
        return LEFT + (steps - self.first) / max(self.last - self.first, 1e-12) * (WIDTH - LEFT - RIGHT)

    def y(self, values: Column) -> Column:
        return HEIGHT - BOTTOM - (values - self.low) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)


def _padded(low: float, high: float) -> tuple[float, float]:
    room = (high - low) * 0.04 or abs(high) * 0.05 or 1.0
    return low - room, high + room


def ticks(low: float, high: float, most: int = TICKS) -> list[float]:
    """Round numbers between two, at most `most` steps apart from end to end."""
    rough = (high - low) / most
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough * 0.999)
    return [number * step for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _tick(value: float) -> str:
    size = abs(value)
    return f"{value:.3g}" if size >= 1e7 or 0 < size < 1e-4 else f"{value:,.10g}"


def _axes(frame: _Frame) -> str:
    parts: list[str] = []
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for value in ticks(frame.low, frame.high):
        y = float(frame.y(np.array([value]))[0])
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{right}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text(_tick(value))}</text>')
    if frame.last > frame.first:
        for value in ticks(frame.first, frame.last):
            x = float(frame.x(np.array([value]))[0])
            parts.append(f'<path class="axis" d="M{x:.1f} {bottom}v4"/>')
            parts.append(f'<text x="{x:.1f}" y="{bottom + 17}" text-anchor="middle">{text(steps_text(value))}</text>')
    parts.append(f'<path class="axis" d="M{LEFT} {bottom}H{right}"/>')
    middle = (LEFT + right) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">environment steps</text>')
    return "".join(parts)


def _drawn(one: GroupCurve, frame: _Frame) -> str:
    x = frame.x(one.knots)
    bands = "".join(
        f'<path class="band" d="{_line(x[part], frame.y(one.top[part]))}'
        f'L{_line(x[part][::-1], frame.y(one.bottom[part])[::-1])[1:]}Z"/>'
        for part in _stretches(np.isfinite(one.bottom) & np.isfinite(one.top))
    )
    seeds = "".join(_path("seed", x, frame.y(seed)) for seed in one.seeds)
    return f'<g class="{classes_of(one.place)}">{bands}{seeds}{_path("curve", x, frame.y(one.middle))}</g>'


def _path(kind: str, x: Column, y: Column) -> str:
    """With a gap where there is no value."""
    data = "".join(_line(x[part], y[part]) for part in _stretches(np.isfinite(y)))
    return f'<path class="{kind}" d="{data}"/>' if data else ""


def _line(x: Column, y: Column) -> str:
    return "M" + "L".join(f"{across:.1f} {up:.1f}" for across, up in zip(x.tolist(), y.tolist(), strict=True))


def _stretches(there: np.ndarray) -> Iterator[slice]:
    at = 0
    for is_there, run in groupby(there.tolist()):
        length = sum(1 for _ in run)
        if is_there:
            yield slice(at, at + length)
        at += length
