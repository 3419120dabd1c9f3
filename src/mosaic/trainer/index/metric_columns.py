"""Columns of a run's metrics: one binary file a tag, so that a million points are read and reduced in milliseconds.

    <home>/trainer/metrics/<RUN>/<n>.f64   rows of three little-endian float64: step, value, wall time
    <home>/trainer/metrics/<RUN>/cursor.json   which tag is which file, how many rows each has, up to which byte of
                                               events.jsonl they go, and how often rows were taken back

Columns only grow, except when a resumed run takes back what lies after its checkpoint. How often that happened is the
generation: the same events give the same rows and the same generation again, so a client that has rows of one
generation needs only those behind them, of any daemon it asks.

A cache: what does not fit together is thrown away and rebuilt from the events. Rows beyond the counts of the
cursor were written by a daemon that was killed before its cursor, and are cut off.
"""

import contextlib
import json
import re
import shutil
import struct
import threading
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic import config
from mosaic.errors import ConfigError
from mosaic.spec.events import RETURN_TAG
from mosaic.spec.files.shared_files import read_small, write_atomically
from mosaic.spec.run_record import Steps

if TYPE_CHECKING:
    from mosaic.trainer.index.metric_rows import Floats

ROW = 3
ROW_BYTES = 8 * ROW
COLUMN_FIELDS = ("columns", "generation")
_COLUMN_NAME = re.compile(r"\d{1,9}\.f64", re.ASCII)


@dataclass
class _Column:
    path: Path
    count: int = 0
    pending: list[float] = field(default_factory=list[float])


@dataclass(frozen=True)
class _Columns:
    """The part of the cursor that is kept here."""

    columns: dict[str, tuple[str, Steps]]
    """Tag to file name and rows."""
    generation: Steps


@dataclass(frozen=True)
class NewRows:
    """What a client lacks."""

    generation: int
    rows: dict[str, tuple[int, bytes]]
    """Tag to the place of the first row, and the rows."""
    more: bool


class RunMetrics:
    """The columns of one run; appended by one thread, read by any."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._columns: dict[str, _Column] = {}
        self._lock = threading.RLock()
        """Held while rows are taken back, so that no reader takes old rows for those of a new generation."""
        self.generation = 0
        """How often rows were taken back."""

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
                self._make_folder()
                # At its place rather than at the end: a full disk may have cut off the last write anywhere.
                with column.path.open("r+b" if column.count else "wb") as file:
                    file.seek(column.count * ROW_BYTES)
                    file.write(struct.pack(f"<{len(column.pending)}d", *column.pending))
                column.count += len(column.pending) // ROW
                column.pending = []

    def rewind(self, step: int) -> None:
        """Drop what lies after a step: a resumed run writes it again."""
        with self._lock:
            self.generation += 1
            for column in self._columns.values():
                # Not flushed before: a full disk must not keep the events behind this one from being read.
                column.pending = _up_to(column.pending, step)
                if column.count:
                    column.count = _rows_up_to(column, step)
                    # What a read-only disk keeps beyond the count is not read, and overwritten later.
                    with contextlib.suppress(OSError):
                        _truncate(column)

    def count(self, tag: str) -> int:
        """Rows of a tag."""
        column = self._columns.get(tag)
        return 0 if column is None else column.count + len(column.pending) // ROW

    def values(self, tag: str, first: int) -> list[float]:
        """Those of a tag from that row on; few, as a rule."""
        column = self._columns.get(tag)
        if column is None:
            return []
        written = list(_rows(column, first)[1::ROW])
        return written + column.pending[1 + ROW * max(0, first - column.count) :: ROW]

    def save(self, cursor: dict[str, Any]) -> None:
        """Remember how far the columns go."""
        self.flush()
        self._make_folder()
        columns = {tag: [column.path.name, column.count] for tag, column in self._columns.items()}
        whole = cursor | {"columns": columns, "generation": self.generation}
        # Not synced: it is a cache, and a cursor that a power cut spoils does not fit its files.
        write_atomically(self._folder / "cursor.json", json.dumps(whole), durable=False)

    def load(self) -> dict[str, Any] | None:
        """The cursor, with the columns cut to it; None if there is none or it does not fit its files."""
        try:
            cursor: dict[str, Any] = config.loads(read_small(self._folder / "cursor.json"))
            listed = config.from_json(_Columns, {name: cursor.pop(name) for name in COLUMN_FIELDS})
            columns = {tag: self._column(name, count) for tag, (name, count) in listed.columns.items()}
        except (OSError, ValueError, KeyError, ConfigError):
            self.clear()
            return None
        self._columns, self.generation = columns, listed.generation
        return cursor

    def _column(self, name: str, count: int, *, cut: bool = True) -> _Column:
        """A column of the cursor, with `cut` to its rows; ValueError if it is none of ours, or shorter than that."""
        column = _Column(self._folder / name, count)
        if not _COLUMN_NAME.fullmatch(name) or column.path.is_symlink():
            raise ValueError("no column has such a name")
        size = column.path.stat().st_size
        if size < count * ROW_BYTES:
            raise ValueError("a column is shorter than its cursor says")
        if size > count * ROW_BYTES and cut:
            _truncate(column)
        return column

    def _make_folder(self) -> None:
        """In the home that is there: one that was removed or moved away is not made again."""
        for folder in (self._folder.parent, self._folder):
            folder.mkdir(exist_ok=True)

    def clear(self, *, generation: int = 0) -> None:
        with self._lock:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._columns, self.generation = {}, generation

    def read(self, tag: str, *, min_step: int = 0, max_step: int = 0, points: int = 0) -> "tuple[Floats, int]":
        """Rows (step, value, time) of a tag, at most `points` of them, and how many there were."""
        from mosaic.trainer.index import metric_rows

        column = self._columns.get(tag) or _Column(self._folder)
        return metric_rows.read(column.path, column.count, min_step=min_step, max_step=max_step, points=points)

    def read_new(self, after: Mapping[str, int], generation: int, limit: int, *, tags: Sequence[str] = ()) -> NewRows:
        """At most `limit` rows behind the first `after` of each tag; all tags unless some are named."""
        found: dict[str, tuple[int, bytes]] = {}
        left, more = limit, False
        with self._lock:
            known: Mapping[str, int] = after if generation == self.generation else {}
            for tag in tags or self.tags:
                column, first = self._columns.get(tag), known.get(tag, 0)
                if column is None or column.count <= first:
                    continue
                count = min(column.count - first, left)
                more |= count < column.count - first
                if count:
                    with column.path.open("rb") as file:
                        file.seek(first * ROW_BYTES)
                        found[tag] = (first, file.read(count * ROW_BYTES))
                    left -= count
            return NewRows(self.generation, found, more)


class NoColumns(RunMetrics):
    """Writes nothing: for a reader that only wants to know how far a run came, and how well.

    It keeps the returns of episodes in memory, because a resumed run takes some back.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._steps, self._returns = array("d"), array("d")

    def append(self, tag: str, step: int, value: float, time: float) -> None:  # noqa: ARG002
        if tag == RETURN_TAG:
            self._steps.append(step)
            self._returns.append(value)

    def flush(self) -> None:
        pass

    def rewind(self, step: int) -> None:
        kept = bisect_right(self._steps, step)
        del self._steps[kept:], self._returns[kept:]

    def count(self, tag: str) -> int:
        return len(self._returns) if tag == RETURN_TAG else 0

    def values(self, tag: str, first: int) -> list[float]:
        return self._returns[first:].tolist() if tag == RETURN_TAG else []

    def save(self, cursor: dict[str, Any]) -> None:
        pass

    def load(self) -> dict[str, Any] | None:
        """The cursor of columns that were kept before: what they tell need not be read again."""
        try:
            cursor: dict[str, Any] = config.loads(read_small(self._folder / "cursor.json"))
            listed = config.from_json(_Columns, {name: cursor.pop(name) for name in COLUMN_FIELDS})
            name, count = listed.columns.get(RETURN_TAG, ("", 0))
            rows = _rows(self._column(name, count, cut=False)) if count else ()
        except (OSError, ValueError, KeyError, ConfigError):
            return None
        self._steps, self._returns = array("d", rows[::ROW]), array("d", rows[1::ROW])
        return cursor

    def clear(self, *, generation: int = 0) -> None:  # noqa: ARG002
        self._steps, self._returns = array("d"), array("d")


def _rows_up_to(column: _Column, step: int) -> int:
    """How many rows have at most this step, found by halving: a column may be larger than memory."""
    low, high = 0, column.count
    with column.path.open("rb") as file:
        while low < high:
            middle = (low + high) // 2
            file.seek(middle * ROW_BYTES)
            if struct.unpack("<d", file.read(8))[0] <= step:
                low = middle + 1
            else:
                high = middle
    return low


def _rows(column: _Column, first: int = 0) -> tuple[float, ...]:
    """What is written from that row on, as one row of numbers."""
    if first >= column.count:
        return ()
    with column.path.open("rb") as file:
        file.seek(first * ROW_BYTES)
        return struct.unpack(f"<{(column.count - first) * ROW}d", file.read((column.count - first) * ROW_BYTES))


def _up_to(pending: list[float], step: int) -> list[float]:
    rows = (pending[first : first + ROW] for first in range(0, len(pending), ROW))
    return [value for row in rows if row[0] <= step for value in row]


def _truncate(column: _Column) -> None:
    with column.path.open("r+b") as file:
        file.truncate(column.count * ROW_BYTES)
