"""Reading a run's events into its progress and its metrics, incrementally, each event once."""

import contextlib
import json
from collections import deque
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from mosaic.spec.own_files import is_regular
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_record import Progress
from mosaic.spec.spool_reader import LineReader
from mosaic.trainer.metrics import RunMetrics

CHUNK_BYTES = 2**18
"""Read at one look: some 20 ms of work, so that nobody waits longer for the supervisor."""
SPARK_POINTS = 48
CURSOR_EVERY_BYTES = 8 * 2**20
MAX_COMPLAINTS = 10
RETURNS = frozenset({"charts/episodic_return", "rollout/ep_rew_mean"})
"""Scalars that tell how a run does, where a script logs no whole episodes."""


@dataclass(frozen=True)
class Ending:
    """How the worker itself said that its attempt ended."""

    completed: bool
    stopped: bool = False
    message: str = ""


class RunIngest:
    """One run's events, read as far as they have been written."""

    def __init__(self, home: Home, run_dir: RunDir) -> None:
        self._home = home
        self._run_dir = run_dir
        self._reader = LineReader(run_dir.events)
        self.metrics = RunMetrics(home.metrics / run_dir.run_id)
        self.ending: Ending | None = None
        """Of the newest attempt; None while it runs."""
        self.started_attempt = 0
        """Newest attempt that reported its start."""
        self.total_timesteps = 0
        self.behind = False
        """There was more to read than one look takes."""
        self.last_seq = 0
        self.complaints: list[str] = []
        """What is wrong with the spool."""
        self._global_step = 0
        self._steps_per_s = 0.0
        self._returns: deque[float] = deque(maxlen=100)
        self._best: float | None = None
        self._spark: list[float] = []
        self._spark_stride = 1
        self._spark_skip = 0
        self._saved_offset = 0
        self._load()

    @property
    def progress(self) -> Progress:
        every_second = self._spark[::2] if len(self._spark) > SPARK_POINTS else self._spark
        return Progress(
            global_step=self._global_step,
            steps_per_s=self._steps_per_s,
            last_return=fmean(self._returns) if self._returns else None,
            best_return=self._best,
            last_seq=self.last_seq,
            sparkline=tuple(every_second),
        )

    def poll(self) -> bool:
        """Take in a bounded part of what is new; True if there was anything, `behind` if there is more."""
        lines = self._reader.new_lines(CHUNK_BYTES)
        self.behind = sum(map(len, lines)) + len(lines) >= CHUNK_BYTES
        for line in lines:
            self._take(line)
        # A cache: a full disk delays it, and must not keep anybody from seeing how the run ended.
        with contextlib.suppress(OSError):
            self.metrics.flush()
            if self._reader.offset - self._saved_offset >= CURSOR_EVERY_BYTES:
                self.save()
        return bool(lines)

    def catch_up(self) -> None:
        """Take in everything."""
        while self.poll() and self.behind:
            pass

    def save(self) -> None:
        """Remember how far this is, so that the next daemon goes on from here."""
        self._saved_offset = self._reader.offset
        self.metrics.save(
            {
                "offset": self._reader.offset,
                "last_seq": self.last_seq,
                "global_step": self._global_step,
                "steps_per_s": self._steps_per_s,
                "returns": list(self._returns),
                "best": self._best,
                "spark": [self._spark, self._spark_stride, self._spark_skip],
                "started_attempt": self.started_attempt,
                "total_timesteps": self.total_timesteps,
                "ending": None if self.ending is None else asdict(self.ending),
            }
        )

    def _load(self) -> None:
        cursor = self.metrics.load()
        size = self._run_dir.events.lstat().st_size if is_regular(self._run_dir.events) else 0
        try:
            if cursor is None:
                return
            if cursor["offset"] > size:
                # Other events than those that the rows are of.
                self.metrics.clear(generation=self.metrics.generation + 1)
                return
            self._spark, self._spark_stride, self._spark_skip = cursor["spark"]
            self.ending = None if cursor["ending"] is None else Ending(**cursor["ending"])
            self._returns.extend(cursor["returns"])
            self.last_seq, self._global_step = cursor["last_seq"], cursor["global_step"]
            self._steps_per_s, self._best = cursor["steps_per_s"], cursor["best"]
            self.started_attempt, self.total_timesteps = cursor["started_attempt"], cursor["total_timesteps"]
            self._reader.offset = self._saved_offset = cursor["offset"]
        except (KeyError, TypeError, ValueError):  # Another version's: a cache, so begin anew.
            self.metrics.clear()
            self.__init__(self._home, self._run_dir)

    def _take(self, line: bytes) -> None:
        try:
            event: dict[str, Any] = json.loads(line)
            seq: int = event["seq"]
            if seq != self.last_seq + 1:
                self._complain(f"event {self.last_seq + 1} is missing, the next one is {seq}")
            self.last_seq = seq
            self._apply(event["kind"], event)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._complain(f"a line of events.jsonl is no event ({error!r}): {line[:200]!r}")

    def _complain(self, message: str) -> None:
        """What is left out is said; the events behind it, the run's end among them, still count."""
        if len(self.complaints) < MAX_COMPLAINTS:
            self.complaints.append(message)

    def _apply(self, kind: str, event: dict[str, Any]) -> None:
        step = self._global_step = event.get("global_step", self._global_step)
        if kind == "scalars":
            append, time = self.metrics.append, event["time"]
            for tag, value in event["values"].items():
                append(tag, step, float(value), time)
                if tag in RETURNS:
                    self._take_return(float(value))
        elif kind == "episode":
            value = float(event["episodic_return"])
            self.metrics.append("charts/episodic_return", step, value, event["time"])
            self.metrics.append("charts/episodic_length", step, event["episodic_length"], event["time"])
            self._take_return(value)
        elif kind == "run.heartbeat":
            self._steps_per_s = float(event["steps_per_s"])
        elif kind == "run.started":
            self._take_start(event)
        elif kind == "eval.batch":
            self._returns.clear()
            mean = float(event["mean"])
            self.metrics.append("eval/mean_return", event["batch"], mean, event["time"])
            self._take_return(mean)
        elif kind == "run.completed":
            self.ending = Ending(completed=True, stopped=event["stopped"], message=event.get("reason", ""))
        elif kind == "run.failed":
            self.ending = Ending(completed=False, message=f"{event['error']}: {event['message']}")

    def _take_return(self, value: float) -> None:
        self._returns.append(value)
        self._spark_skip += 1
        mean = fmean(self._returns)
        self._best = mean if self._best is None else max(self._best, mean)
        if self._spark_skip >= self._spark_stride:
            self._spark_skip = 0
            self._spark.append(mean)
            if len(self._spark) >= 2 * SPARK_POINTS:
                self._spark = self._spark[::2]
                self._spark_stride *= 2

    def _take_start(self, event: dict[str, Any]) -> None:
        self.started_attempt = event["attempt"]
        self.total_timesteps = event["total_timesteps"]
        self.ending = None
        resumed = event["resumed_from_step"]
        if resumed is not None:
            self.metrics.rewind(resumed)
            self._global_step = resumed
