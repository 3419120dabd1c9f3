"""The curves of each chart, made of the series of the selected runs; what was made is kept and only extended."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mosaic.gui.models.charts.chart_options import ChartOptions
from mosaic.gui.models.charts.plotted_curve import Line, Plotted, RunCurve, SeedsCurve
from mosaic.gui.models.charts.series import Column, Curves, Series

NOT_SMOOTHED = frozenset({"charts/learning_rate"})
"""Tags without noise, of which a mean over a window would only lag behind."""

_SEED = re.compile(r"[ _,·-]*(s|seed)? ?\d+$")


@dataclass(frozen=True)
class Member:
    """A run that is drawn."""

    run_id: str
    name: str
    colour: int
    group: str = ""


@dataclass(frozen=True)
class _Made:
    x: Column
    line: Line
    raw: Line | None
    worked: bool


class Charts:
    """Curves by tag."""

    def __init__(self, curves: Curves) -> None:
        self._curves = curves
        self._lines: dict[tuple[str, str], dict[tuple[int, bool], Line]] = {}

    def signature(self, tag: str, members: Sequence[Member], view: ChartOptions) -> object:
        """Equal as long as the chart of this tag would look the same."""
        return view, [(member, id(series), len(series)) for member, series in self.points(tag, members)]

    def curves_of(
        self, tag: str, members: Sequence[Member], view: ChartOptions, deadline: float = float("inf")
    ) -> list[Plotted] | None:
        """The curves of a chart, the first member's last and so on top; None if the deadline (of the monotonic clock)
        came first, and then asking again goes on."""
        found = self.points(tag, members)
        own = replace(view, window=1) if tag in NOT_SMOOTHED else view
        curves: list[Plotted] = []
        for group in reversed(grouped([member for member, _ in found], view)):
            made = [self._made(member, tag, series, own) for member, series in found if member in group]
            if _is_of_seeds(group[0], view) and view.seeds != "each":
                seeds = [(one.x, one.line) for one in made]
                curves.append(SeedsCurve(group_name(group), group[0].colour, seeds, view.seeds, view.log))
            else:
                curves.append(RunCurve(group[0].name, group[0].colour, made[0].x, made[0].line, made[0].raw))
            # Only work ends a turn: with nothing new left to take in, the last turn runs through.
            if any(one.worked for one in made) and time.monotonic() > deadline:
                return None
        return curves

    def points(self, tag: str, members: Sequence[Member]) -> Sequence[tuple[Member, Series]]:
        """The series of a chart: every point, also those that no screen has room for."""
        return [(member, series) for member in members if (series := self._curves.get(member.run_id, tag))]

    def keep(self, run_ids: Sequence[str]) -> None:
        """Forget what was made of all other runs."""
        self._lines = {key: lines for key, lines in self._lines.items() if key[0] in run_ids}

    def _made(self, member: Member, tag: str, series: Series, view: ChartOptions) -> "_Made":
        of_seeds = _is_of_seeds(member, view)
        log = view.log and not of_seeds
        wanted = [(view.window, log)] if of_seeds or view.window <= 1 else [(view.window, log), (1, log)]
        before = self._lines.get((member.run_id, tag), {})
        lines = [
            kept if (kept := before.get(key)) and kept.series is series else Line(series, key[0], log=log)
            for key in wanted
        ]
        self._lines[member.run_id, tag] = dict(zip(wanted, lines, strict=True))
        worked = [line.update() for line in lines]
        return _Made(self._x(member.run_id, series, view), lines[0], (*lines[1:], None)[0], any(worked))

    def _x(self, run_id: str, series: Series, view: ChartOptions) -> Column:
        if view.x == "step":
            return series.steps
        x = series.times - self._curves.began(run_id) if view.x == "relative" else series.times
        # A clock that was set back must not make the curve run backwards.
        return np.maximum.accumulate(x)


def _is_of_seeds(member: Member, view: ChartOptions) -> bool:
    return view.seeds != "each" and bool(member.group)


def grouped(members: Sequence[Member], view: ChartOptions) -> list[list[Member]]:
    """Runs that make one curve together, in the order of their first."""
    groups: dict[str, list[Member]] = {}
    for member in members:
        groups.setdefault(member.group if _is_of_seeds(member, view) else member.run_id, []).append(member)
    return list(groups.values())


def group_name(members: Sequence[Member]) -> str:
    """The name without the seed: `ppo_cartpole` of `ppo_cartpole_s1` and `ppo_cartpole_s2`."""
    names = [member.name for member in members]
    if len(set(names)) == 1:
        return names[0]
    return _SEED.sub("", names[0]) or names[0]
