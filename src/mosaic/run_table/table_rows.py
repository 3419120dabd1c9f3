"""Runs as columns: each is made once from all runs, when it is first asked for, and kept up to date from then on.

A column of ten thousand runs takes a few milliseconds to make and to sort; what has changed since costs as many steps
as runs have changed.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mosaic.config import JsonValue
from mosaic.run_table.run_columns import FACTS, SEARCHED, Value, metric_of, searched_text, source_of, text_of, value_of
from mosaic.spec.run_record import PINNED, RunRecord

Numbers: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Summary:
    """A metric of a run in a few numbers."""

    last: float
    highest: float
    lowest: float
    auc: float
    points: int = 0

    def value(self, wanted: str) -> float | None:
        number = self.highest if wanted == "best" else float(getattr(self, wanted))
        return None if number != number and wanted != "last" else number


class Column:
    """One value a run."""

    def __init__(self, values: list[Value]) -> None:
        self.values = values

    @cached_property
    def numbers(self) -> Numbers:
        """NaN where there is no number."""
        return np.array([_number(value) for value in self.values], dtype=np.float64)

    @cached_property
    def _coded(self) -> tuple[Rows, list[Value]]:
        """Of each row the place of its value among the different ones."""
        places: dict[str, int] = {}
        different: list[Value] = []
        codes: list[int] = []
        for value in self.values:
            key = value if isinstance(value, str) else "" if value is None else f"\0{text_of(value)}"
            place = places.get(key)
            if place is None:
                place = places[key] = len(different)
                different.append(value)
            codes.append(place)
        return np.array(codes, dtype=np.intp), different

    @property
    def codes(self) -> Rows:
        return self._coded[0]

    @property
    def different(self) -> list[Value]:
        return self._coded[1]

    def where(self, is_wanted: Callable[[Value], bool]) -> Mask:
        """Asked once of each different value."""
        found = np.array([is_wanted(value) for value in self.different], dtype=np.bool_)
        return found[self.codes] if len(found) else np.zeros(0, dtype=np.bool_)

    @cached_property
    def sort_keys(self) -> Numbers:
        """Numbers by size, then texts by letters; NaN, which stands last, where there is nothing."""
        if not any(isinstance(value, (str, tuple)) for value in self.values):
            return self.numbers
        different = self.different
        in_order = sorted(range(len(different)), key=lambda place: _sort_key(different[place]))
        ranks = np.empty(len(different))
        ranks[in_order] = np.arange(len(different))
        ranks[[place for place, value in enumerate(different) if value is None]] = np.nan
        return ranks[self.codes]

    def put(self, row: int, value: Value) -> bool:
        """Whether that changed anything."""
        before = self.values[row]
        if before is value or (before == value and type(before) is type(value)):
            return False
        self.values[row] = value
        if "numbers" in self.__dict__:
            self.numbers[row] = _number(value)
        self.__dict__.pop("_coded", None)
        if self.__dict__.get("sort_keys") is not self.__dict__.get("numbers") or isinstance(value, (str, tuple)):
            self.__dict__.pop("sort_keys", None)
        return True


class TableRows:
    """All runs of a table, in no order: what is shown, and in which order, are rows of it."""

    def __init__(self) -> None:
        self.records: list[RunRecord] = []
        self._settings: list[Mapping[str, JsonValue] | None] = []
        self._metrics: list[dict[str, Summary | None]] = []
        self._row_by_id: dict[str, int] = {}
        self._columns: dict[str, Column] = {}
        self._newest: Rows | None = None
        self.setting_names: dict[str, None] = {}
        """Of any run, in the order in which they were met."""
        self.metric_tags: dict[str, None] = {}
        """Those of any run that were told."""

    def __len__(self) -> int:
        return len(self.records)

    def row_of(self, run_id: str) -> int | None:
        return self._row_by_id.get(run_id)

    def take(self, records: Iterable[RunRecord]) -> set[str]:
        """Records that are new or newer; the columns in which something changed, all of them if runs were added."""
        changed: set[str] = set()
        added = False
        for record in records:
            row = self._row_by_id.get(record.run_id)
            if row is None:
                added = True
                self._row_by_id[record.run_id] = len(self.records)
                self.records.append(record)
                self._settings.append(None)
                self._metrics.append({})
                continue
            if self.records[row].attempt != record.attempt:
                self._settings[row] = None  # The worker of another attempt writes the config anew.
            self.records[row] = record
            changed |= self._put(row, "fact")
        if added:
            self._columns.clear()
            self._newest = None
            return {*FACTS, *self.setting_names}
        return changed

    def remove(self, run_ids: Collection[str]) -> None:
        gone = set(run_ids)
        kept = [row for row, record in enumerate(self.records) if record.run_id not in gone]
        self.records = [self.records[row] for row in kept]
        self._settings = [self._settings[row] for row in kept]
        self._metrics = [self._metrics[row] for row in kept]
        self._row_by_id = {record.run_id: row for row, record in enumerate(self.records)}
        self._columns.clear()
        self._newest = None

    def take_settings(self, run_id: str, settings: Mapping[str, JsonValue]) -> None:
        """A run that is gone meanwhile has none."""
        row = self._row_by_id.get(run_id)
        if row is not None:
            self._settings[row] = settings
            self.setting_names.update(dict.fromkeys(name for name in settings if name not in FACTS))
            self._put(row, "setting")

    def take_metrics(self, run_id: str, summaries: Mapping[str, Summary | None]) -> None:
        row = self._row_by_id.get(run_id)
        if row is not None:
            self._metrics[row] |= summaries
            self._put(row, "metric")

    def without_settings(self) -> list[str]:
        """Runs whose settings are not known yet, newest first."""
        return [self.records[row].run_id for row in self.newest_first() if self._settings[row] is None]

    def without_metric(self, tag: str) -> list[str]:
        return [self.records[row].run_id for row in self.newest_first() if tag not in self._metrics[row]]

    def settings_of(self, run_id: str) -> Mapping[str, JsonValue] | None:
        row = self._row_by_id.get(run_id)
        return None if row is None else self._settings[row]

    def all_settings(self) -> list[Mapping[str, JsonValue] | None]:
        """Of each row."""
        return list(self._settings)

    def column(self, name: str) -> Column:
        """By its whole name."""
        column = self._columns.get(name)
        if column is None:
            value = self._reader(name)
            column = self._columns[name] = Column([value(row) for row in range(len(self.records))])
        return column

    def value(self, row: int, name: str) -> Value:
        """One cell: what is only looked at needs no column."""
        column = self._columns.get(name)
        return self._reader(name)(row) if column is None else column.values[row]

    def newest_first(self) -> Rows:
        """All rows: a run id begins with the time at which the run was made."""
        if self._newest is None or len(self._newest) != len(self.records):
            ids = [record.run_id for record in self.records]
            self._newest = np.array(sorted(range(len(ids)), key=ids.__getitem__, reverse=True), dtype=np.intp)
        return self._newest

    def in_order(self, name: str, *, downwards: bool, among: Mask | None = None) -> Rows:
        """Rows sorted by a column; what has no value stands last either way, and equal ones newest first."""
        rows = self.newest_first()
        if among is not None:
            rows = rows[among[rows]]
        if not name:
            return rows[::-1] if downwards else rows
        keys = self.column(name).sort_keys[rows]
        return rows[np.argsort(-keys if downwards else keys, kind="stable")]

    def _put(self, row: int, source: str) -> set[str]:
        changed: set[str] = set()
        for name, column in self._columns.items():
            if source_of(name) == source and column.put(row, self._reader(name)(row)):
                changed.add(name)
        return changed

    def _reader(self, name: str) -> Callable[[int], Value]:
        match source_of(name):
            case "fact":
                read = searched_text if name == SEARCHED else FACTS[name].value
                return lambda row: read(self.records[row])
            case "metric":
                tag, wanted = metric_of(name)
                return lambda row: _wanted(self._metrics[row].get(tag), wanted)
            case "setting":
                return lambda row: _setting(self._settings[row], name)


def pinned_first(table: TableRows, rows: Rows) -> Rows:
    """The same rows, those of pinned runs at the top."""
    is_at_top = table.column("tags").where(lambda value: isinstance(value, tuple) and PINNED in value)[rows]
    return np.concatenate([rows[is_at_top], rows[~is_at_top]]) if is_at_top.any() else rows


def differing(rows: Sequence[Mapping[str, JsonValue] | None], names: Iterable[str]) -> list[str]:
    """Settings that are not the same in all of these runs; one that only some runs have differs."""
    known = [settings for settings in rows if settings is not None]
    found: list[str] = []
    for name in names:
        values = [settings.get(name, _NO_SUCH) for settings in known]
        if values and (values.count(values[0]) != len(values) or len({type(value) for value in values}) > 1):
            found.append(name)
    return found


_NO_SUCH = object()


def _wanted(summary: Summary | None, wanted: str) -> Value:
    return None if summary is None else summary.value(wanted)


def _setting(settings: Mapping[str, JsonValue] | None, name: str) -> Value:
    return None if settings is None or name not in settings else value_of(settings[name])


def _number(value: Value) -> float:
    return float(value) if isinstance(value, (int, float)) else np.nan


def _sort_key(value: Value) -> tuple[int, float, str]:
    if isinstance(value, (int, float)):
        return (0, float(value), "")
    return (1, 0.0, text_of(value).lower())
