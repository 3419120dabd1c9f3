"""Columns of a run's metrics: one binary file a tag, so that a million points are read and reduced in milliseconds.

    <home>/trainer/metrics/<RUN>/<n>.f64   rows of three little-endian float64: step, value, wall time
    <home>/trainer/metrics/<RUN>/cursor.json   which tag is which file, how many rows each has, and up to which byte of
                                               events.jsonl they go

A cache: whatever does not fit together is thrown away and rebuilt from the events. Rows beyond the counts of the
cursor were written by a daemon that was killed before its cursor, and are cut off.
"""

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mosaic.spec.files import write_atomically

Floats: TypeAlias = NDArray[np.float64]
ROW = 3
ROW_BYTES = 8 * ROW


@dataclass
class _Column:
    path: Path
    count: int = 0
    pending: list[float] = field(default_factory=list[float])


class RunMetrics:
    """The columns of one run; appended by one thread, read by any."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._columns: dict[str, _Column] = {}

    @property
    def tags(self) -> list[str]:
        return sorted(self._columns)

    def append(self, tag: str, step: int, value: float, time: float) -> None:
        column = self._columns.get(tag)
        if column is None:
            column = self._columns[tag] = _Column(self._folder / f"{len(self._columns)}.f64")
        column.pending += (step, value, time)

    def flush(self) -> None:
        for column in self._columns.values():
            if column.pending:
                self._folder.mkdir(parents=True, exist_ok=True)
                with column.path.open("ab") as file:
                    file.write(np.array(column.pending, dtype="<f8").tobytes())
                column.count += len(column.pending) // ROW
                column.pending = []

    def rewind(self, step: int) -> None:
        """Drop what lies after a step: a resumed run writes it again."""
        self.flush()
        for column in self._columns.values():
            column.count = int(np.searchsorted(_rows(column)[:, 0], step, side="right"))
            _truncate(column)

    def save(self, cursor: dict[str, Any]) -> None:
        """Remember how far the columns go."""
        self.flush()
        self._folder.mkdir(parents=True, exist_ok=True)
        columns = {tag: [column.path.name, column.count] for tag, column in self._columns.items()}
        write_atomically(self._folder / "cursor.json", json.dumps(cursor | {"columns": columns}))

    def load(self) -> dict[str, Any] | None:
        """The cursor, with the columns cut to it; None if there is none or it does not fit its files."""
        try:
            cursor: dict[str, Any] = json.loads((self._folder / "cursor.json").read_bytes())
            columns = {tag: _Column(self._folder / name, count) for tag, (name, count) in cursor["columns"].items()}
            for column in columns.values():
                if column.path.stat().st_size < column.count * ROW_BYTES:
                    raise ValueError("a column is shorter than its cursor says")
                _truncate(column)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self.clear()
            return None
        self._columns = columns
        return cursor

    def clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._columns = {}

    def read(self, tag: str, *, min_step: int = 0, max_step: int = 0, points: int = 0) -> tuple[Floats, int]:
        """Rows (step, value, time) of a tag, at most `points` of them, and how many there were."""
        column = self._columns.get(tag)
        if column is None or column.count == 0:
            return np.empty((0, ROW)), 0
        rows = _rows(column)
        first = int(np.searchsorted(rows[:, 0], min_step, side="left"))
        last = int(np.searchsorted(rows[:, 0], max_step, side="right")) if max_step else len(rows)
        chosen = rows[first:last]
        return reduce_rows(chosen, points), len(chosen)


def reduce_rows(rows: Floats, points: int) -> Floats:
    """At most `points` rows: the lowest and the highest value of each of `points` / 2 columns, in order of step."""
    if points <= 0 or len(rows) <= points:
        return np.array(rows)
    bins = max(points // 2, 1)
    edges = np.linspace(0, len(rows), bins + 1).astype(np.int64)
    values = np.nan_to_num(np.ascontiguousarray(rows[:, 1]), nan=0.0)
    keep = np.empty(2 * bins, dtype=np.int64)
    width = len(rows) // bins
    if width * bins == len(rows):
        block = values.reshape(bins, width)
        keep[::2], keep[1::2] = block.argmin(1) + edges[:-1], block.argmax(1) + edges[:-1]
    else:
        for index, (start, stop) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
            part = values[start:stop]
            keep[2 * index], keep[2 * index + 1] = start + int(part.argmin()), start + int(part.argmax())
    return rows[np.unique(keep)]


def _rows(column: _Column) -> Floats:
    if column.count == 0:
        return np.empty((0, ROW))
    return np.memmap(column.path, dtype="<f8", mode="r", shape=(column.count, ROW))


def _truncate(column: _Column) -> None:
    with column.path.open("r+b") as file:
        file.truncate(column.count * ROW_BYTES)
