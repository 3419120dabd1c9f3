"""Curves of metrics, of single runs and of groups of seeds, kept up to date.

Every row that a run has logged is taken in once, in pieces, into bins (`binned_curve`), so that a curve of a million
points takes as little room as one of a thousand. A group is summed up by `mosaic.statistics.seed_curves`: below five
seeds there is no band, and every seed is drawn.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

import numpy as np

from mosaic.errors import ConfigError, Problem
from mosaic.rpc.client import NewRows, Refused
from mosaic.spec.states import LIVE
from mosaic.statistics.enough_seeds import trust
from mosaic.statistics.seed_curves import BANDS, Middle, Summary, interpolated, summary
from mosaic.web.binned_curve import BinnedCurve, Column
from mosaic.web.channels.page_channel import PATIENCE_S, Channel, words_of
from mosaic.web.server_room import bins_of

PIECE_ROWS = 100_000
"""Rows asked for at once: 2.4 MB."""
LIVE_S = 0.4
"""Between two looks at runs that learn."""
GROUP_S = 1.0
"""Between two summaries of a group."""
MOST_RUNS = 100
MOST_TAGS = 24
KNOTS = 240
"""Most places at which a group is summed up: seeds scatter, and a mean over more steps is a calmer curve."""
ROW = 3
"""Numbers of a row: step, value, time."""


@dataclass
class _Fetched:
    """How far the rows of a run are taken in."""

    run_id: str
    bins: int
    """Of each of its curves."""
    curves: dict[str, BinnedCurve] = field(default_factory=dict[str, BinnedCurve])
    rows: dict[str, int] = field(default_factory=dict[str, int])
    generation: int = 0
    revision: int = -1
    """Of the record when all was fetched."""
    changed: dict[str, int] = field(default_factory=dict[str, int])
    """The first bin of each tag that the page does not have."""


@dataclass(frozen=True)
class _Group:
    run_ids: list[str]


class CurvesChannel(Channel):
    """`tags` of `groups`, each of one run or several; `middle` is how several are summed up, or `each`."""

    async def work(self) -> None:
        tags = self.words("tags", most=MOST_TAGS)
        if not tags:
            raise ConfigError([Problem("tags", "must name at least one")], what="request of the page")
        groups = self._groups()
        middle = self.word("middle", "mean")
        if middle not in (*BANDS, "each"):
            raise ConfigError([Problem("middle", "must be mean, IQM or each")], what="request of the page")
        run_ids = {run_id for group in groups for run_id in group.run_ids}
        count = max(1, len(run_ids) * len(set(tags)))
        bins = bins_of(count)
        with self.room.bins.held(bins * count):
            await self._follow(tags, groups, middle, {run_id: _Fetched(run_id, bins) for run_id in run_ids})

    async def _follow(
        self, tags: list[str], groups: list[_Group], middle: Middle | Literal["each"], fetched: Mapping[str, _Fetched]
    ) -> None:
        stale: set[tuple[int, str]] = set()
        summed_at = 0.0
        clock = asyncio.get_running_loop().time
        while True:
            more = False
            for run in fetched.values():
                # Each by itself: one that has asked for a hundred runs and is closed ends with the run that it is at.
                more |= await self.ask(lambda run=run: self._fetch(run, tags))
            news = {run_id: run.changed for run_id, run in fetched.items()}
            for run in fetched.values():
                run.changed = {}
            for place, group in enumerate(groups):
                for run_id in group.run_ids:
                    changed = news[run_id]
                    stale |= {(place, tag) for tag in changed if len(group.run_ids) > 1}
                    if len(group.run_ids) == 1 or middle == "each" or trust(len(group.run_ids)) == "none":
                        await self._draw_runs(place, fetched[run_id], changed)
            if stale and middle != "each" and not more and clock() - summed_at >= GROUP_S:
                summed_at = clock()
                for place, tag in sorted(stale):
                    await self._draw_group(place, groups[place], tag, fetched, middle)
                stale.clear()
            if not more:
                await self.tell(whole=True)
                await self._wait(fetched)

    def _groups(self) -> list[_Group]:
        asked = self.asked.get("groups", [])
        groups: list[_Group] = []
        for one in cast("list[object]", asked) if isinstance(asked, list) else []:
            about = cast("dict[str, object] | None", one if isinstance(one, dict) else None)
            runs = words_of(about and about.get("runs"), "runs of a group", most=MOST_RUNS)
            if not runs or len(set(runs)) != len(runs):
                # A run that stood in a group twice would count as two seeds.
                problem = Problem("groups", "must name the runs of each, and each run once")
                raise ConfigError([problem], what="request of the page")
            groups.append(_Group(runs))
        if sum(len(group.run_ids) for group in groups) > MOST_RUNS:
            raise ConfigError([Problem("groups", f"have more than {MOST_RUNS} runs")], what="request of the page")
        return groups

    def _fetch(self, run: _Fetched, tags: list[str]) -> bool:
        """A piece of a run that may have news; whether it has more."""
        record = self.news.records.get(run.run_id)
        if record is not None and record.state not in LIVE and record.revision == run.revision:
            return False
        try:
            new = self.news.client.new_metrics(
                run.run_id, after_rows=run.rows, generation=run.generation, max_rows=PIECE_ROWS, tags=tags
            )
        except Refused as refused:
            if refused.status == "NOT_FOUND":  # Deleted: the table says so.
                return False
            raise
        _take(run, new)
        if not new.more and record is not None:
            run.revision = record.revision
        return new.more

    async def _draw_runs(self, place: int, run: _Fetched, changed: Mapping[str, int]) -> None:
        for tag, first in changed.items():
            curve = run.curves[tag]
            points = curve.points(first)
            head: dict[str, object] = {
                "kind": "run",
                "group": place,
                "run": run.run_id,
                "tag": tag,
                "from": curve.points_before(first),
                "width": curve.width,
                "rows": curve.rows,
                "not_finite": curve.not_finite,
            }
            await self.draw(head, **vars(points))

    async def _draw_group(
        self, place: int, group: _Group, tag: str, fetched: Mapping[str, _Fetched], middle: Middle
    ) -> None:
        curves = [fetched[run_id].curves[tag] for run_id in group.run_ids if tag in fetched[run_id].curves]
        if not curves:
            return
        width, knots, found = await self.room.compute(lambda: _summed(curves, middle))
        head: dict[str, object] = {
            "kind": "group",
            "group": place,
            "tag": tag,
            "seeds": len(curves),
            "trust": trust(int(found.count.max())) if len(knots) else "none",
            "band": BANDS[middle],
            "middle": middle,
            "width": width,
        }
        count = found.count.astype(np.float64)
        await self.draw(head, x=knots, mean=found.middle, low=found.bottom, high=found.top, count=count)

    async def _wait(self, fetched: Mapping[str, _Fetched]) -> None:
        known = [self.news.records.get(run_id) for run_id in fetched]
        if any(record is None or record.state in LIVE for record in known):
            await asyncio.sleep(LIVE_S)
        else:
            await self.news.runs_changed.after(self.news.runs_changed.version, at_most_s=PATIENCE_S)


def _take(run: _Fetched, new: NewRows) -> None:
    if new.generation != run.generation:
        # Rows were taken back, as by a resume: what was drawn is void.
        run.changed = dict.fromkeys(run.curves, 0)
        run.curves, run.rows, run.generation = {}, {}, new.generation
    for tag, (first, data) in new.rows.items():
        rows: Column = np.frombuffer(data, dtype="<f8").reshape(-1, ROW)
        curve = run.curves.setdefault(tag, BinnedCurve(run.bins))
        changed = curve.add(rows[:, 0], rows[:, 1])
        run.changed[tag] = min(changed, run.changed.get(tag, run.bins))
        run.rows[tag] = first + len(rows)
    for tag in list(run.changed):
        if tag not in run.curves:
            run.curves[tag] = BinnedCurve(run.bins)


def _summed(curves: list[BinnedCurve], middle: Middle) -> tuple[int, Column, Summary]:
    """Steps of a bin, the knots, and the group at each: the means of the bins in which any of its seeds has a value."""
    width = max(curve.width for curve in curves)
    last = max((float(points.x[-1]) for curve in curves if len((points := curve.points()).x)), default=0.0)
    while last / width > KNOTS:
        width *= 2
    each = [curve.points_of_width(width) for curve in curves]
    knots = np.unique(np.concatenate([points.x // width for points in each])) * width + width / 2
    if not len(knots):
        return width, knots, summary(np.empty((len(each), 0)), middle)
    values = np.stack([interpolated(points.x, points.mean, knots) for points in each])
    # At the ends a seed has no value on both sides of a knot: what it has in the bin itself counts.
    for row, points in enumerate(each):
        own = np.searchsorted(knots, points.x // width * width + width / 2)
        missing = np.isnan(values[row, own])
        values[row, own[missing]] = points.mean[missing]
    return width, knots, summary(values, middle)
