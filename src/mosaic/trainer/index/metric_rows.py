"""Rows of a column of metrics as numpy arrays: those between two steps, reduced to as many as a client asks for.

The window takes new rows as they are (`RunMetrics.read_new`) and reduces them itself, in `gui/models/charts/series.py`.

A module of its own, loaded by the first question for a curve: the daemon answers everything else without numpy.
"""

from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
ROW = 3


def read(path: Path, count: int, *, min_step: int, max_step: int, points: int) -> tuple[Floats, int]:
    """Of the first `count` rows of a file, those between two steps: at most `points`, and how many there were."""
    if count == 0:
        return np.empty((0, ROW)), 0
    # Read rather than mapped: a resumed run cuts its columns, and touching a map beyond the end of its file is fatal.
    rows = np.fromfile(path, dtype="<f8", count=count * ROW).reshape(-1, ROW)
    first = int(np.searchsorted(rows[:, 0], min_step, side="left"))
    last = int(np.searchsorted(rows[:, 0], max_step, side="right")) if max_step else len(rows)
    chosen = rows[first:last]
    return reduce_rows(chosen, points), len(chosen)


def reduce_rows(rows: Floats, points: int) -> Floats:
    """At most `points` rows: the lowest and the highest value of each of `points` / 2 columns, in order of step."""
    if points <= 0 or len(rows) <= points:
        return rows
    if points == 1:
        return rows[-1:]
    bins = points // 2
    values = rows[:, 1]
    missing = np.isnan(values)
    # A NaN is neither lowest nor highest: it is kept only where a column holds nothing else.
    low, high = np.where(missing, np.inf, values), np.where(missing, -np.inf, values)
    width, wide = divmod(len(rows), bins)
    # The first columns are one row wider, so that no row is left over.
    split = wide * (width + 1)
    keep = [*_extremes(low, high, 0, split, width + 1), *_extremes(low, high, split, len(rows), width)]
    return rows[np.unique(np.concatenate(keep))]


def _extremes(low: Floats, high: Floats, start: int, stop: int, width: int) -> tuple[NDArray[np.int64], ...]:
    """Where the lowest and the highest value of each column of `width` rows are."""
    firsts = np.arange(start, stop, width)
    lowest = low[start:stop].reshape(-1, width).argmin(axis=1)
    highest = high[start:stop].reshape(-1, width).argmax(axis=1)
    return firsts + lowest, firsts + highest
