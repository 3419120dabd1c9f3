"""What a source hands to the window: what changed since the last look."""

from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from mosaic.config import JsonObject
from mosaic.spec.manifest import Artifact
from mosaic.spec.run_record import RunRecord

LogSource: TypeAlias = Literal["stdout", "stderr", "events", "episodes"]
Level: TypeAlias = Literal["", "INFO", "OK", "WARN", "ERR"]


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a run's log."""

    source: LogSource
    text: str
    level: Level = ""
    time: float = 0.0
    """Unix seconds; 0 where the line does not say."""


@dataclass(frozen=True)
class Points:
    """New points of one tag, in the order in which they were logged."""

    steps: list[float] = field(default_factory=list[float])
    times: list[float] = field(default_factory=list[float])
    values: list[float] = field(default_factory=list[float])

    def add(self, step: float, time: float, value: float) -> None:
        self.steps.append(step)
        self.times.append(time)
        self.values.append(value)


@dataclass(frozen=True)
class Stretch:
    """Points of one attempt, or the part of it that came with this batch."""

    resumed_from: int | None = None
    """Step that a new attempt goes on from: later points of earlier attempts are void."""
    points: dict[str, Points] = field(default_factory=dict[str, Points])


@dataclass(frozen=True)
class Detail:
    """What the run was made from and what it left behind."""

    folder: str
    config: JsonObject
    artifacts: tuple[Artifact, ...]


@dataclass(frozen=True)
class Opened:
    """News of a run whose curves and log are shown."""

    run_id: str
    restarted: bool = False
    """The spool was replaced: all earlier points and lines are void."""
    stretches: tuple[Stretch, ...] = ()
    lines: tuple[LogLine, ...] = ()
    detail: Detail | None = None


@dataclass(frozen=True)
class Notice:
    """Something that a person should know and that stops nothing."""

    message: str
    run_id: str = ""


@dataclass(frozen=True)
class Machine:
    """Load of this machine."""

    cpu_percent: float
    memory_used: int
    memory_total: int
    disk_free: int
    disk_total: int


@dataclass(frozen=True)
class Batch:
    """What changed since the last look."""

    records: tuple[RunRecord, ...] = ()
    removed: tuple[str, ...] = ()
    opened: tuple[Opened, ...] = ()
    notices: tuple[Notice, ...] = ()
    machine: Machine | None = None
    complete: bool = True
    """False while there is more to read at once."""


class Source(Protocol):
    """Where the window learns of runs: the run directories now, the daemon's stream later."""

    def open(self, run_ids: tuple[str, ...]) -> None:
        """Hand out curves, log and config of these runs from now on, and of no others. Called from any thread."""
        ...

    def poll(self) -> Batch:
        """What is new; returns after some tens of milliseconds even if there is more."""
        ...
