"""The table of runs: filter, order, groups and columns as `mosaic runs` and the window have them, in pages."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mosaic.errors import MosaicError
from mosaic.rpc.find_run import LEARNING
from mosaic.run_table import fetched_values
from mosaic.run_table.arrangement import DEFAULT
from mosaic.run_table.fetched_values import RunValues
from mosaic.run_table.filter_expression import Expression, FilterError, may_need_settings, needed, parse
from mosaic.run_table.row_groups import RowGroup, cell_of, grouped
from mosaic.run_table.run_columns import kind_of, resolve, shown_value, title_of_column
from mosaic.run_table.table_rows import Rows, TableRows, pinned_first
from mosaic.spec.run_record import RunRecord, damage_of, is_pinned
from mosaic.web.channels.page_channel import PATIENCE_S, Channel

PAUSE_S = 0.3
"""Between two tables that are told."""
MOST_ROWS = 500
MOST_COLUMNS = 40
MOST_OF_GROUP = 100
"""Runs of a group that are named."""
RIGHT = frozenset({"number", "count", "duration", "share"})
"""Kinds of columns whose numbers stand under one another."""


@dataclass(frozen=True)
class _Wanted:
    filter: str
    columns: list[str]
    sort: str
    downwards: bool
    group: list[str]
    first: int
    rows: int


@dataclass(frozen=True)
class _Resolved:
    """What was wanted, with whole names."""

    expression: Expression
    columns: list[str]
    sort: str
    group: list[str]

    @property
    def names(self) -> list[str]:
        return [*self.expression.columns(), *self.columns, *self.group, *([self.sort] if self.sort else [])]


class TableChannel(Channel):
    """A page of rows, told again when something in it changed."""

    async def work(self) -> None:
        wanted = _Wanted(
            self.word("filter"),
            self.words("columns", most=MOST_COLUMNS) or list(DEFAULT),
            self.word("sort"),
            bool(self.asked.get("downwards")),
            self.words("group", most=4),
            int(self.number_of("first", 0, 0, 1e9)),
            int(self.number_of("rows", 60, 1, MOST_ROWS)),
        )
        told: object = None
        version = -1
        while True:
            version = await self.news.runs_changed.after(version, at_most_s=PATIENCE_S)
            found = await self._table(wanted)
            if found != told:
                told = found
                await self.tell(**found)
            await asyncio.sleep(PAUSE_S)

    async def _table(self, wanted: _Wanted) -> dict[str, object]:
        try:
            named = [*wanted.columns, *([wanted.sort] if wanted.sort else []), *wanted.group]
            if may_need_settings(wanted.filter) or any(_is_setting(name) for name in named):
                await self._fetch_settings()
            resolved = await self.room.compute(lambda: self._resolved(wanted))
            settings, tags = needed(resolved.names)
            if settings:
                await self._fetch_settings()
            for tag in tags:
                await self._fetch_metric(tag)
        except FilterError as error:
            return {"problem": str(error), "at": [error.start, error.end]}
        except MosaicError as error:
            return {"problem": str(error), "at": None}
        return await self.room.compute(lambda: self._page(resolved, wanted))

    def _resolved(self, wanted: _Wanted) -> _Resolved:
        with self.news.lock:
            settings, tags = self.news.table.setting_names, self.news.table.metric_tags
            return _Resolved(
                parse(wanted.filter, settings, tags or None),
                [resolve(name, settings, tags or None) for name in wanted.columns],
                resolve(wanted.sort, settings, tags or None) if wanted.sort else "",
                [resolve(name, settings, tags or None) for name in wanted.group],
            )

    def _page(self, resolved: _Resolved, wanted: _Wanted) -> dict[str, object]:
        columns = resolved.columns
        with self.news.lock:
            table = self.news.table
            among = _among(table, resolved.expression)
            rows = pinned_first(table, table.in_order(resolved.sort, downwards=wanted.downwards, among=among))
            heads = [
                {"name": name, "title": title_of_column(name), "right": kind_of(name) in RIGHT} for name in columns
            ]
            found: dict[str, object] = {"columns": heads, "total": len(rows), "all": len(table), "first": wanted.first}
            if resolved.group:
                groups = grouped(table, rows, resolved.group)
                shown = groups[wanted.first : wanted.first + wanted.rows]
                return {**found, "groups": [_group(table, one, columns) for one in shown], "total_groups": len(groups)}
            page: list[int] = rows[wanted.first : wanted.first + wanted.rows].tolist()
            return {**found, "rows": [_row(table, row, columns) for row in page]}

    async def _fetch_settings(self) -> None:
        await self._fetch(
            self.news.table.without_settings,
            lambda run_ids: fetched_values.pages(self.news.client, run_ids, settings=True),
        )

    async def _fetch_metric(self, tag: str) -> None:
        await self._fetch(
            lambda: self.news.table.without_metric(tag),
            lambda run_ids: fetched_values.pages(self.news.client, run_ids, metrics=[tag], tags=True),
        )

    async def _fetch(
        self, lacking: Callable[[], list[str]], pages: Callable[[list[str]], Iterator[list[RunValues]]]
    ) -> None:
        """What runs lack. Only tables that need it wait for the daemon: the lock is free meanwhile."""

        def missing() -> list[str]:
            with self.news.lock:
                return lacking()

        def take_next(found: Iterator[list[RunValues]]) -> bool:
            page = next(found, None)
            if page is None:
                return False
            with self.news.lock:
                fetched_values.put(self.news.table, page)
            return True

        if not await self.room.compute(missing):
            return
        async with self.room.fetching:
            found = pages(await self.room.compute(missing))
            while await self.ask(lambda: take_next(found)):
                pass


def _is_setting(name: str) -> bool:
    return may_need_settings(f"{name}:x")


def _among(table: TableRows, expression: Expression) -> np.ndarray:
    """Sessions of play are left out, unless the filter asks for a kind."""
    fitting = expression.fits(table)
    if "kind" in expression.columns():
        return fitting
    return fitting & table.column("kind").where(lambda kind: kind in LEARNING.kinds)


def _row(table: TableRows, row: int, columns: list[str]) -> dict[str, object]:
    run = table.records[row]
    return {**_named(run), "cells": [shown_value(name, table.value(row, name)) for name in columns]}


def _named(run: RunRecord) -> dict[str, object]:
    return {
        "run": run.run_id,
        "state": run.state.value,
        "done": run.done,
        "spark": list(run.sparkline),
        "pinned": is_pinned(run),
        "damaged": bool(damage_of(run)),
        "warned": len(run.warnings),
    }


def _group(table: TableRows, group: RowGroup, columns: list[str]) -> dict[str, object]:
    cells = [cell_of(table, group, name) for name in columns]
    members: Rows = group.rows[:MOST_OF_GROUP]
    return {
        "title": group.title,
        "size": len(group.rows),
        "cells": [{"text": cell.text, "tip": cell.tip} for cell in cells],
        "runs": [table.records[row].run_id for row in members.tolist()],
    }
