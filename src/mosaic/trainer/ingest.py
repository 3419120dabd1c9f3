"""Reading a run's events into its record and its metrics, incrementally, each event once."""

from collections import deque
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from mosaic import config
from mosaic.errors import ConfigError, SpoolCorrupt
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_record import Progress
from mosaic.trainer.metrics import RunMetrics

CHUNK_BYTES = 4 * 2**20
SPARK_POINTS = 48
CURSOR_EVERY_BYTES = 8 * 2**20


@dataclass(frozen=True)
class Ending:
    """How the worker itself said that its attempt ended."""

    completed: bool
    stopped: bool = False
    message: str = ""


class RunIngest:
    """One run's events, read as far as they have been written."""

    def __init__(self, home: Home, run_dir: RunDir) -> None:
        self._run_dir = run_dir
        self.metrics = RunMetrics(home.metrics / run_dir.run_id)
        self.progress = Progress()
        self.ending: Ending | None = None
        """Of the newest attempt; None while it runs."""
        self.started_attempt = 0
        """Newest attempt that reported its start."""
        self.total_timesteps = 0
        self._offset = 0
        self._saved_offset = 0
        self._returns: deque[float] = deque(maxlen=100)
        self._spark: list[float] = []
        self._spark_stride = 1
        self._spark_skip = 0
        self._load()

    def poll(self) -> bool:
        """Take in what is new; True if there was anything."""
        changed = False
        while chunk := self._read_chunk():
            changed = True
            for line in chunk.splitlines():
                self._take(line)
            self.metrics.flush()
        if changed and self._offset - self._saved_offset >= CURSOR_EVERY_BYTES:
            self.save()
        return changed

    def save(self) -> None:
        """Remember how far this is, so that the next daemon goes on from here."""
        self._saved_offset = self._offset
        progress = {**vars(self.progress), "sparkline": list(self.progress.sparkline)}
        self.metrics.save(
            {
                "offset": self._offset,
                "progress": progress,
                "returns": list(self._returns),
                "spark": [self._spark, self._spark_stride, self._spark_skip],
                "started_attempt": self.started_attempt,
                "total_timesteps": self.total_timesteps,
                "ending": None if self.ending is None else vars(self.ending),
            }
        )

    def _load(self) -> None:
        cursor = self.metrics.load()
        size = self._run_dir.events.stat().st_size if self._run_dir.events.exists() else 0
        if cursor is None or cursor["offset"] > size:
            self.metrics.clear()
            return
        self._offset = self._saved_offset = cursor["offset"]
        self.progress = Progress(**cursor["progress"] | {"sparkline": tuple(cursor["progress"]["sparkline"])})
        self._returns.extend(cursor["returns"])
        self._spark, self._spark_stride, self._spark_skip = cursor["spark"]
        self.started_attempt = cursor["started_attempt"]
        self.total_timesteps = cursor["total_timesteps"]
        self.ending = None if cursor["ending"] is None else Ending(**cursor["ending"])

    def _read_chunk(self) -> bytes:
        try:
            with self._run_dir.events.open("rb") as file:
                file.seek(self._offset)
                data = file.read(CHUNK_BYTES)
        except FileNotFoundError:
            return b""
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole

    def _take(self, line: bytes) -> None:
        try:
            event: dict[str, Any] = config.loads(line, what="event")
            seq, kind = event["seq"], event["kind"]
        except (ConfigError, KeyError) as error:
            raise SpoolCorrupt(
                f"run {self._run_dir.run_id}: a line of events.jsonl is no event: {line[:200]!r}"
            ) from error
        if seq != self.progress.last_seq + 1:
            expected = self.progress.last_seq + 1
            raise SpoolCorrupt(f"run {self._run_dir.run_id}: event {expected} is missing, the next one is {seq}")
        self.progress = replace(
            self.progress, last_seq=seq, global_step=event.get("global_step", self.progress.global_step)
        )
        if kind == "scalars":
            for tag, value in event["values"].items():
                self.metrics.append(tag, event["global_step"], float(value), event["time"])
        elif kind == "episode":
            self._take_episode(event)
        elif kind == "run.heartbeat":
            self.progress = replace(self.progress, steps_per_s=event["steps_per_s"])
        elif kind == "run.started":
            self._take_start(event)
        elif kind == "eval.batch":
            self._returns.clear()
            self._take_return(float(event["mean"]))
        elif kind == "run.completed":
            self.ending = Ending(completed=True, stopped=event["stopped"])
        elif kind == "run.failed":
            self.ending = Ending(completed=False, message=f"{event['error']}: {event['message']}")

    def _take_episode(self, event: dict[str, Any]) -> None:
        step, time = event["global_step"], event["time"]
        value = float(event["episodic_return"])
        self.metrics.append("charts/episodic_return", step, value, time)
        self.metrics.append("charts/episodic_length", step, event["episodic_length"], time)
        self._take_return(value)

    def _take_return(self, value: float) -> None:
        self._returns.append(value)
        mean = fmean(self._returns)
        best = self.progress.best_return
        self.progress = replace(
            self.progress,
            last_return=mean,
            best_return=mean if best is None else max(best, mean),
            sparkline=self._sparkline(mean),
        )

    def _sparkline(self, mean: float) -> tuple[float, ...]:
        """Every k-th mean; k doubles when there are too many."""
        self._spark_skip += 1
        if self._spark_skip >= self._spark_stride:
            self._spark_skip = 0
            self._spark.append(mean)
            if len(self._spark) >= 2 * SPARK_POINTS:
                self._spark = self._spark[::2]
                self._spark_stride *= 2
        return tuple(self._spark[-SPARK_POINTS:]) if len(self._spark) <= SPARK_POINTS else tuple(self._spark[::2])

    def _take_start(self, event: dict[str, Any]) -> None:
        self.started_attempt = event["attempt"]
        self.total_timesteps = event["total_timesteps"]
        self.ending = None
        resumed = event["resumed_from_step"]
        if resumed is not None:
            self.metrics.rewind(resumed)
            self.progress = replace(self.progress, global_step=resumed)
