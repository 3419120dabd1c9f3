"""Reading a run's events into its progress and its metrics, incrementally, each event once."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mosaic import config
from mosaic.alerts.alert_rules import RunWatch, WatchState
from mosaic.errors import ConfigError
from mosaic.plain_text import plain_line
from mosaic.spec.events import (
    RETURN_TAG,
    Episode,
    EvalBatch,
    Event,
    EventReader,
    Heartbeat,
    RunCompleted,
    RunFailed,
    RunStarted,
    Scalars,
    Step,
    Warned,
    scalars_of,
)
from mosaic.spec.files.files_of_run import is_regular
from mosaic.spec.files.spool_reader import LineReader
from mosaic.spec.return_tags import is_return
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_record import Progress
from mosaic.trainer.index.metric_columns import NoColumns, RunMetrics
from mosaic.trainer.index.return_course import CourseState, ReturnCourse

CHUNK_BYTES = 2**18
"""Read at one look: some 20 ms of work, so that no client waits longer for the supervisor."""
CURSOR_EVERY_BYTES = 8 * 2**20
MOST_WARNINGS = 5
"""Kept of a run; its log has all."""
LONGEST_WARNING = 300


@dataclass(frozen=True)
class Ending:
    """How the worker itself said that its attempt ended."""

    completed: bool
    stopped: bool = False
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class Cursor:
    """How far a run's events were taken in, as `cursor.json` keeps it beside the columns."""

    offset: Step
    """Bytes of events.jsonl."""
    lines: Step
    """Lines."""
    last_seq: Step
    """Newest event."""
    skipped: Step
    """Damaged lines since then."""
    damaged: Step
    """Damaged lines."""
    first_damaged: Step
    """The first of them."""
    newer: Step
    """Events of a newer version."""
    global_step: Step
    """Environment steps done."""
    steps_per_s: float
    """Lately."""
    returns: CourseState
    """What lists show of the returns."""
    has_episodes: bool = False
    """Whole episodes were reported."""
    started: RunStarted | None
    """How the newest attempt began."""
    ending: Ending | None
    """How it ended."""
    watch: WatchState = field(default_factory=WatchState)
    """What the rules of alerts remember."""
    warnings: tuple[str, ...] = ()
    """The first that it warned of."""


class RunIngest:
    """One run's events, read as far as they have been written."""

    def __init__(self, home: Home, run_dir: RunDir, *, keep_metrics: bool = True) -> None:
        """Without `keep_metrics` nothing is written: only the progress is wanted."""
        self._run_dir = run_dir
        self._lines = LineReader(run_dir.events)
        self.metrics = (RunMetrics if keep_metrics else NoColumns)(home.metrics / run_dir.run_id)
        self.behind = False
        """There was more to read than one look takes."""
        self.watch = RunWatch()
        """The rules of alerts."""
        self._saved_offset = 0
        self._take_by_kind: Mapping[type[Any], Callable[[Event, Any], None]] = {
            Scalars: self._take_scalars,
            Episode: self._take_episode,
            Heartbeat: self._take_heartbeat,
            Warned: self._take_warned,
            RunStarted: self._take_start,
            EvalBatch: self._take_batch,
            RunCompleted: self._take_completed,
            RunFailed: self._take_failed,
        }
        self._begin()
        self._load()

    def _begin(self) -> None:
        """Nothing has been read."""
        self._events = EventReader()
        self.started: RunStarted | None = None
        """How the newest attempt began."""
        self.ending: Ending | None = None
        """Of the newest attempt; None while it runs."""
        self._global_step = 0
        self._has_episodes = False
        self._steps_per_s = 0.0
        self._returns = ReturnCourse()
        self._warnings: tuple[str, ...] = ()
        self.watch.begin(total_steps=0, is_fresh=True)

    @property
    def started_attempt(self) -> int:
        """Newest attempt that reported its start."""
        return 0 if self.started is None else self.started.attempt

    @property
    def total_timesteps(self) -> int:
        return 0 if self.started is None else self.started.total_timesteps

    @property
    def last_seq(self) -> int:
        return self._events.last_seq

    @property
    def complaints(self) -> list[str]:
        """What is wrong with the spool."""
        return self._events.complaints

    @property
    def progress(self) -> Progress:
        return Progress(
            global_step=self._global_step,
            steps_per_s=self._steps_per_s,
            last_return=self._returns.mean,
            best_return=self._returns.best,
            last_seq=self.last_seq,
            sparkline=self._returns.sparkline,
            damaged_lines=self._events.damaged,
            first_damaged_line=self._events.first_damaged,
            newer_events=self._events.newer,
            warnings=self._warnings,
            events_bytes=self._lines.size,
        )

    def poll(self) -> bool:
        """Take in a bounded part of what is new; True if there was anything, `behind` if there is more."""
        lines = self._lines.new_lines(CHUNK_BYTES)
        if self._lines.restarted:
            # Other events than those that were read before.
            self._lines.restarted = False
            self.metrics.clear(generation=self.metrics.generation + 1)
            self._begin()
        found = self._events.read(lines) if lines else self._events.rest()
        # A held event is handed out by the next look, which finds the line behind it or the end.
        self.behind = self._events.is_holding or sum(map(len, lines)) + len(lines) >= CHUNK_BYTES
        take_by_kind = self._take_by_kind
        for event in found:
            take = take_by_kind.get(type(event.body))
            if take is not None:
                take(event, event.body)
            elif (step := getattr(event.body, "global_step", None)) is not None:
                self._global_step = step
        # A cache: a full disk delays it, and must not hide how the run ended.
        with contextlib.suppress(OSError):
            self.metrics.flush()
            if self._lines.offset - self._saved_offset >= CURSOR_EVERY_BYTES and not self._events.is_holding:
                self.save()
        return bool(lines or found)

    def catch_up(self) -> None:
        """Take in everything."""
        while self.poll() and self.behind:
            pass

    def save(self) -> None:
        """Remember how far this is, so that the next daemon goes on from here."""
        if self._events.is_holding:
            return  # The line behind the held one decides: the next daemon reads both again.
        self._saved_offset = self._lines.offset
        cursor = Cursor(
            offset=self._lines.offset,
            lines=self._events.lines,
            last_seq=self._events.last_seq,
            skipped=self._events.skipped,
            damaged=self._events.damaged,
            first_damaged=self._events.first_damaged,
            newer=self._events.newer,
            global_step=self._global_step,
            steps_per_s=self._steps_per_s,
            returns=self._returns.state(),
            has_episodes=self._has_episodes,
            started=self.started,
            ending=self.ending,
            watch=self.watch.state(),
            warnings=self._warnings,
        )
        self.metrics.save(config.to_json(cursor))

    def _load(self) -> None:
        stored = self.metrics.load()
        if stored is None:
            return
        size = self._run_dir.events.lstat().st_size if is_regular(self._run_dir.events) else 0
        try:
            cursor = config.from_json(Cursor, stored, what="cursor.json")
        except ConfigError:  # Another version's, or damaged: a cache, so begin anew.
            self.metrics.clear()
            return
        if cursor.offset > size:
            # Other events than those that the rows are of.
            self.metrics.clear(generation=self.metrics.generation + 1)
            return
        self._events = EventReader(lines=cursor.lines, last_seq=cursor.last_seq, skipped=cursor.skipped)
        self._events.damaged, self._events.first_damaged = cursor.damaged, cursor.first_damaged
        self._events.newer = cursor.newer
        self._has_episodes = cursor.has_episodes
        self.started, self.ending, self._warnings = cursor.started, cursor.ending, cursor.warnings
        if self.started is not None:
            self._begin_watch(self.started)
        self.watch.restore(cursor.watch)
        self._returns.restore(cursor.returns)
        self._global_step, self._steps_per_s = cursor.global_step, cursor.steps_per_s
        self._lines.offset = self._lines.size = self._saved_offset = cursor.offset

    def _take_scalars(self, event: Event, body: Scalars) -> None:
        step = body.global_step
        # A script may log by episodes or updates; its heartbeats tell how far it is.
        self._global_step = max(self._global_step, step)
        append, time = self.metrics.append, event.time
        for tag, value in scalars_of(body).items():
            append(tag, step, value, time)
            if value - value != 0.0:
                self.watch.take_odd(tag, step, value)
            # Of a script that logs no whole episodes.
            if not self._has_episodes and is_return(tag):
                self._returns.take(value)
                self.watch.take_return(step, value)

    def _take_episode(self, event: Event, body: Episode) -> None:
        step = body.global_step
        self._global_step = max(self._global_step, step)
        self._has_episodes = True
        for tag, value in scalars_of(body).items():
            self.metrics.append(tag, step, value, event.time)
        value = float(body.episodic_return)
        self._returns.take(value)
        self.watch.take_return(step, value)

    def _take_heartbeat(self, _: Event, body: Heartbeat) -> None:
        self._global_step, self._steps_per_s = body.global_step, body.steps_per_s

    def _take_warned(self, _: Event, body: Warned) -> None:
        text = plain_line(body.message)
        text = text if len(text) <= LONGEST_WARNING else f"{text[:LONGEST_WARNING]}…"
        if len(self._warnings) < MOST_WARNINGS and text not in self._warnings:
            self._warnings = (*self._warnings, text)

    def _take_batch(self, event: Event, body: EvalBatch) -> None:
        self._returns.forget_last()
        mean = float(body.mean)
        self.metrics.append("eval/mean_return", body.batch, mean, event.time)
        self._returns.take(mean)

    def _take_completed(self, _: Event, body: RunCompleted) -> None:
        self._global_step = body.global_step
        self.ending = Ending(completed=True, stopped=body.stopped, message=body.reason)

    def _take_failed(self, _: Event, body: RunFailed) -> None:
        self._global_step = body.global_step
        self.ending = Ending(completed=False, message=f"{body.error}: {body.message}")

    def _take_start(self, _: Event, body: RunStarted) -> None:
        self.started, self.ending = body, None
        self._begin_watch(body)
        if body.resumed_from_step is not None:
            self._rewind(body.resumed_from_step)
            self._global_step = body.resumed_from_step

    def _rewind(self, step: int) -> None:
        """Drop what lies after the checkpoint: the resumed run does it again."""
        # Where each return is an episode's: scripts, whose returns have many names, and evaluations are not resumed.
        are_episodes = self._returns.taken == self.metrics.count(RETURN_TAG)
        self.metrics.rewind(step)
        if are_episodes:
            taken = self.metrics.count(RETURN_TAG)
            self._returns.rewind(taken, self.metrics.values(RETURN_TAG, self._returns.first_needed(taken)))

    def _begin_watch(self, body: RunStarted) -> None:
        self.watch.begin(total_steps=body.total_timesteps, is_fresh=body.resumed_from_step is None)
