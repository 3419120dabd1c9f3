"""Runs grouped by the values of columns, and what may be said of each group's numbers: a mean, n, and from five runs
on its 95 % interval (Student's t); below five there is none (`mosaic.statistics.enough_seeds`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mosaic.run_table.run_columns import Value, kind_of, short_number, shown_value, title_of_column
from mosaic.run_table.table_rows import Rows, TableRows
from mosaic.statistics.enough_seeds import FEWEST, remark, trust
from mosaic.statistics.intervals import Interval, of_mean

LISTED = 12
"""Values that a tool tip lists."""
NOT_AVERAGED = frozenset({"moment", "text", "words", "setting"})
WHOLE = 100
"""From here on a mean of counts is a whole number."""
NAMES_ONLY = frozenset({"seed", "attempt", "priority"})
"""Numbers that are not measures."""


@dataclass(frozen=True)
class RowGroup:
    """Runs that have the same values in the columns of the grouping."""

    by: tuple[str, ...]
    values: tuple[Value, ...]
    rows: Rows

    @cached_property
    def key(self) -> str:
        """The same for the same values, whatever runs there are."""
        return "\n".join(f"{name}={shown_value(name, value)}" for name, value in zip(self.by, self.values, strict=True))

    @property
    def title(self) -> str:
        return "  ·  ".join(
            f"{title_of_column(name)} {shown_value(name, value) or '–'}"
            for name, value in zip(self.by, self.values, strict=True)
        )


@dataclass(frozen=True)
class GroupCell:
    """What a group says in a column."""

    text: str
    """The value that all have in common, how many there are, or the mean with its interval and n."""
    tip: str = ""
    mean: Interval | None = None
    n: int = 0


def grouped(table: TableRows, rows: Rows, by: Sequence[str]) -> list[RowGroup]:
    """The groups of these rows in the order in which they are met; rows keep their order in each."""
    if not len(rows):
        return []
    codes = np.zeros(len(rows), dtype=np.intp)
    for name in by:
        own = table.column(name).codes[rows]
        _, codes = np.unique(codes * (int(own.max()) + 1) + own, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    borders = np.flatnonzero(np.diff(codes[order])) + 1
    parts = sorted(np.split(order, borders), key=lambda part: int(part[0]))
    return [
        RowGroup(tuple(by), tuple(table.column(name).values[rows[part[0]]] for name in by), rows[part])
        for part in parts
    ]


def cell_of(table: TableRows, group: RowGroup, name: str) -> GroupCell:
    """A group in one column."""
    column = table.column(name)
    if kind_of(name) not in NOT_AVERAGED and name not in NAMES_ONLY:
        numbers = column.numbers[group.rows]
        numbers = numbers[~np.isnan(numbers)]
        if len(numbers):
            return _mean(name, numbers, len(group.rows))
    codes = column.codes[group.rows]
    if (codes == codes[0]).all():
        return GroupCell(shown_value(name, column.values[int(group.rows[0])]))
    firsts: list[int] = group.rows[np.unique(codes, return_index=True)[1]].tolist()
    values = [column.values[row] for row in firsts[:LISTED]]
    different = len(firsts)
    more = f"\nand {different - LISTED} more" if different > LISTED else ""
    return GroupCell(f"{different:,} values", "\n".join(shown_value(name, value) or "–" for value in values) + more)


def _mean(name: str, numbers: np.ndarray, runs: int) -> GroupCell:
    n = len(numbers)
    mean = of_mean(numbers)

    def show(value: float) -> str:
        if kind_of(name) == "count" and abs(value) >= WHOLE:
            return f"{value:,.0f}"
        return shown_value(name, value) if kind_of(name) in ("duration", "share") else short_number(value)

    missing = f"\n{runs - n:,} of the group have no value" if n < runs else ""
    if n == 1:
        return GroupCell(f"{show(mean.value)}  n 1", f"one run{missing}", mean, n)
    if not mean.is_known:
        listed = ", ".join(show(value) for value in np.sort(numbers)[:LISTED])
        why = f"no interval below {FEWEST} runs: {listed}" if trust(n) == "none" else "no interval"
        return GroupCell(f"{show(mean.value)}  n {n:,}", f"mean of {n:,} runs; {why}{missing}", mean, n)
    rough = f" ({remark(n, 'run')})" if remark(n) else ""
    return GroupCell(
        f"{show(mean.value)} ± {show(mean.high - mean.value)}  n {n:,}",
        f"mean of {n:,} runs with its 95 % interval{rough}: {show(mean.low)} to {show(mean.high)}{missing}",
        mean,
        n,
    )
