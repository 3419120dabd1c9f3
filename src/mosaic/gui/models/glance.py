"""A run at a glance, for the list: from the head, the tail and a few samples of its spool, whatever its length."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from ulid import ULID

from mosaic import config
from mosaic.errors import MosaicError, SpoolCorrupt
from mosaic.gui.models.stat import changed_ns, size_of
from mosaic.spec import manifest, run_record
from mosaic.spec.course import Course, state_of
from mosaic.spec.events import Event, RunStarted, decode
from mosaic.spec.run_dir import RunDir
from mosaic.spec.run_record import Placed, RunRecord
from mosaic.spec.spool_reader import LineReader
from mosaic.spec.states import LIVE, TERMINAL, RunState

WHOLE_BYTES = 64 * 1024
"""A spool up to this size is read whole: decoding it takes some 10 ms."""
TAIL_BYTES = 32 * 1024
SAMPLES = 24
SAMPLE_BYTES = 2048
SPARK_POINTS = 48
ALIVE_CHECK_S = 1.0


class Glance:
    """Follows one run; reads what is new and no byte twice, except for the few that are sampled."""

    def __init__(self, run_dir: RunDir) -> None:
        self.run_dir = run_dir
        self.problems: list[str] = []
        """Lines that are no events; whoever reads them empties the list."""
        self.is_live = True
        """Whether more may come: it has not ended."""
        self._course = Course()
        self._placed = Placed(run_id=run_dir.run_id)
        self._identity: tuple[int, ...] = ()
        self._reader: LineReader | None = None
        self._spark: list[tuple[int, float]] = []
        self._next_alive_check = 0.0
        self._started_at = ULID.from_str(run_dir.run_id).timestamp
        self._last: RunRecord | None = None

    def refresh(self) -> RunRecord | None:
        """The record if it changed."""
        lines = self._new_lines()
        now = time.monotonic()
        if not lines and self._last is not None and (not self.is_live or now < self._next_alive_check):
            return None
        self._next_alive_check = now + ALIVE_CHECK_S
        for line in lines:
            try:
                self._take(decode(line))
            except SpoolCorrupt as error:
                self.problems.append(str(error))
        self._identify()
        record = self._record()
        self.is_live = record.state not in TERMINAL
        if record == self._last:
            return None
        self._last = record
        return record

    def _new_lines(self) -> list[bytes]:
        if self._reader is None:
            path = self.run_dir.events
            size = size_of(path)
            if size <= WHOLE_BYTES:
                self._reader = LineReader(path)
            else:
                head, offset = _first_line(path), _line_start(path, size - TAIL_BYTES)
                self._spark = _samples(path, size)
                self._reader = LineReader(path, offset=offset)
                return [head, *self._reader.new_lines()]
        return self._reader.new_lines()

    def _take(self, event: Event) -> None:
        before = len(self._course.history)
        self._course.take(event)
        body = event.body
        if isinstance(body, RunStarted):
            self._started_at = event.time
            self._placed = replace(self._placed, algo=body.algo, env_id=body.env_id, seed=body.seed)
            if body.resumed_from_step is not None:
                self._spark = [point for point in self._spark if point[0] <= body.resumed_from_step]
        if len(self._course.history) > before:
            self._spark.append((self._course.global_step, self._course.history[-1]))

    def _identify(self) -> None:
        """Name, kind, algorithm and environment, from the files that say so; read again when one of them changes."""
        files = (self.run_dir.manifest, self.run_dir.config, self.run_dir.record)
        identity = tuple(changed_ns(file) for file in files)
        if identity == self._identity:
            return
        self._identity = identity
        try:
            if identity[2]:
                self._placed = run_record.read(self.run_dir)
            if identity[0]:
                found = manifest.read(self.run_dir)
                self._placed = replace(
                    self._placed, kind=found.mode, algo=found.algo, env_id=found.env_id, seed=found.seed
                )
            if identity[1] and not self._placed.label:
                named = config.loads(self.run_dir.config.read_bytes(), what=str(self.run_dir.config)).get("run_name")
                self._placed = replace(self._placed, label=str(named or ""))
        except FileNotFoundError:
            self._identity = ()
        except MosaicError as error:
            self.problems.append(str(error))

    def _state(self) -> RunState:
        """The daemon's word if there is one, unless it speaks of a living worker: that may have ended without it."""
        placed, course = self._placed, self._course
        has_daemon = bool(self._identity and self._identity[2])
        if has_daemon and (placed.state not in LIVE or placed.attempt > course.attempt):
            return placed.state
        found = state_of(self.run_dir, course)
        return placed.state if has_daemon and found in LIVE else found

    def _record(self) -> RunRecord:
        course = self._course
        placed = replace(
            self._placed,
            state=self._state(),
            reason=course.failure or self._placed.reason,
            total_timesteps=course.total_timesteps or self._placed.total_timesteps,
            attempt=course.attempt,
            started_at=self._started_at,
        )
        return RunRecord(
            **vars(placed),
            global_step=course.global_step,
            steps_per_s=course.steps_per_s,
            last_return=course.mean_return,
            sparkline=thinned(self._spark),
            run_dir=str(self.run_dir.root),
        )


def thinned(points: list[tuple[int, float]]) -> tuple[float, ...]:
    """At most SPARK_POINTS values, evenly over the steps: samples lie further apart than what came live."""
    if len(points) <= SPARK_POINTS:
        return tuple(value for _, value in points)
    first, last = points[0][0], points[-1][0]
    bins: dict[int, float] = {}
    for step, value in points:
        bins[(step - first) * (SPARK_POINTS - 1) // max(last - first, 1)] = value
    return tuple(bins[index] for index in sorted(bins))


def _samples(path: Path, size: int) -> list[tuple[int, float]]:
    """Step and mean return at some places of a spool."""
    points: list[tuple[int, float]] = []
    with path.open("rb") as file:
        for index in range(SAMPLES):
            file.seek(size * index // SAMPLES)
            if (point := _sample(file.read(SAMPLE_BYTES).split(b"\n")[1:-1])) is not None:
                points.append(point)
    return points


def _sample(lines: list[bytes]) -> tuple[int, float] | None:
    """Step and mean return of the episodes in a few lines; other lines do not matter here."""
    points: list[tuple[int, float]] = []
    for line in lines:
        if b'"kind":"episode"' not in line:
            continue
        try:
            data: dict[str, Any] = json.loads(line)
            points.append((int(data["global_step"]), float(data["episodic_return"])))
        except (ValueError, KeyError, TypeError):
            continue  # whoever opens the run is told
    if not points:
        return None
    return points[-1][0], sum(value for _, value in points) / len(points)


def _first_line(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.readline().rstrip(b"\n")


def _line_start(path: Path, offset: int) -> int:
    """Where the first whole line after `offset` begins."""
    with path.open("rb") as file:
        file.seek(offset)
        file.readline()
        return file.tell()
