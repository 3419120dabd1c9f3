"""The histograms of a run: one JSON object a line in `histograms.jsonl`, the distributions of weights and gradients.

    {"v": 1, "global_step": 5120, "update": 10, "time": 1763200000.123,
     "weights": {"actor.0.weight": {"count": 256, "low": -0.4, "high": 0.5, "counts": [1, 0, 3, ...]}, ...},
     "gradients": {...}}

A worker writes a line at every N-th update (`--histograms-every N`), and rarer the longer the run is: of the first 128
lines none is left out, of the next 128 every second is written, of the 256 behind them every fourth, and so on. So the
file of a run of any length stays small, and which lines there are follows from the number of updates alone.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from mosaic import config
from mosaic.errors import ConfigError

VERSION = 1
BINS = 64
WHOLE = 128
"""Lines of which none is left out."""
MAX_LINE_BYTES = 2**20
"""A longer line is damaged."""
MAX_FILE_BYTES = 64 * 2**20
"""What a reader takes of a file at most."""
LARGEST = 3.41e38
"""What a float32 holds, and a little for its last digit."""
MOST_PARTS = 64
"""Parameters of one line."""


@dataclass(frozen=True)
class Histogram:
    """How the values of one parameter lie between the lowest and the highest."""

    count: int
    """Values of the parameter."""
    low: float
    high: float
    counts: Sequence[int]
    """Values in each of equally wide bins between `low` and `high`; where every k-th value was looked at, of those."""
    not_finite: int = 0
    """Values that are not finite numbers, of those that were looked at."""


@dataclass(frozen=True)
class HistogramRow:
    """The histograms of one moment, by the name of the parameter."""

    global_step: int
    update: int
    """Which update of the networks, from 1 on."""
    time: float
    """Unix seconds."""
    weights: Mapping[str, Histogram]
    gradients: Mapping[str, Histogram]
    """As the optimiser took them, after a clip; a parameter without a gradient has none."""


class DamagedRow(ValueError):
    """A line that is not a row of this version, with the reason."""


def is_due(update: int, every: int) -> bool:
    """Whether this update gets a line; `every` 0 is never."""
    if every <= 0 or update % every:
        return False
    number = update // every
    return number % spacing(number) == 0


def spacing(number: int) -> int:
    """Of so many candidates for a line, every how many-th is written there."""
    return 1 << max((number - 1) // WHOLE, 0).bit_length()


def encode(row: HistogramRow) -> str:
    """One line, without its line feed."""
    parts = {
        name: {part: _packed(one) for part, one in getattr(row, name).items()} for name in ("weights", "gradients")
    }
    head = {"v": VERSION, "global_step": row.global_step, "update": row.update, "time": round(row.time, 3)}
    return json.dumps(head | parts, separators=(",", ":"), allow_nan=False)


def _packed(one: Histogram) -> dict[str, Any]:
    packed = {"count": one.count, "low": one.low, "high": one.high, "counts": list(one.counts)}
    return packed | ({"not_finite": one.not_finite} if one.not_finite else {})


def decode(line: bytes) -> HistogramRow:
    """One line; DamagedRow with the reason where it is none."""
    if len(line) > MAX_LINE_BYTES:
        raise DamagedRow(f"a line of {len(line):,} bytes")
    try:
        data = cast("dict[str, Any]", config.loads(line, what="histograms"))
        if data["v"] != VERSION:
            raise DamagedRow(f"version {data['v']!r:.40}, not {VERSION}")
        step, update, time = data["global_step"], data["update"], data["time"]
        if not (_is_count(step) and _is_count(update) and update >= 1):
            raise DamagedRow(f"step {step!r:.40} and update {update!r:.40}")
        if type(time) not in (int, float) or not math.isfinite(time):
            raise DamagedRow(f"time {time!r:.40}")
        weights, gradients = _unpacked(data["weights"]), _unpacked(data["gradients"])
    except (ConfigError, KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise DamagedRow(str(error)) from error
    return HistogramRow(step, update, float(time), weights, gradients)


def _unpacked(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Histogram]:
    if len(parts) > MOST_PARTS:
        raise DamagedRow(f"{len(parts)} parameters")
    return {name: _histogram(one) for name, one in parts.items()}


def _histogram(one: Mapping[str, Any]) -> Histogram:
    low, high, counts = float(one["low"]), float(one["high"]), one["counts"]
    if not -LARGEST <= low <= high <= LARGEST:
        raise DamagedRow(f"values from {low} to {high}")
    count, not_finite = one["count"], one.get("not_finite", 0)
    if len(counts) > BINS or not all(map(_is_count, (*counts, count, not_finite))):
        raise DamagedRow("counts that are none")
    return Histogram(count, low, high, tuple(counts), not_finite)


def _is_count(value: object) -> bool:
    """A whole number that a float says exactly, too: axes and sums are made of them."""
    return type(value) is int and 0 <= value < 2**53


def rows_of(lines: Iterable[bytes]) -> tuple[list[HistogramRow], int]:
    """The rows of whole lines, and how many lines are damaged; those stay where they are and are left out."""
    rows: list[HistogramRow] = []
    damaged = 0
    for line in lines:
        try:
            rows.append(decode(line))
        except DamagedRow:
            damaged += 1
    return rows, damaged
