"""A line of a run's log: what a worker printed, or an event that the curves do not show, in words."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mosaic.plain_text import plain_line
from mosaic.spec.events import (
    CheckpointSaved,
    Episode,
    EvalBatch,
    Event,
    Heartbeat,
    PolicySaved,
    RunCompleted,
    RunFailed,
    RunStarted,
    Scalars,
    VideoSaved,
    Warned,
)
from mosaic.spec.logs.terminal_text import plain

LogSource: TypeAlias = Literal["stdout", "stderr", "events"]
Level: TypeAlias = Literal["", "INFO", "OK", "WARN", "ERR"]
SOURCES: tuple[LogSource, ...] = ("stdout", "stderr", "events")
"""Lines of one moment stand in this order."""
SEVERITY: Mapping[Level, int] = {"": 0, "INFO": 0, "OK": 0, "WARN": 1, "ERR": 2}
LONGEST_SEARCH = 1000
"""Characters of a text that is looked for in a log."""
DRAWN = (Scalars.kind, Episode.kind, Heartbeat.kind)
"""Kinds of events that curves and lists show: they have no line."""
_LEVEL = re.compile(r"\[(?P<structlog>debug|info|warning|error|critical)\s*\]|^(?P<bare>error|warning):", re.IGNORECASE)
_LEVELS: Mapping[str, Level] = {"warning": "WARN", "error": "ERR", "critical": "ERR"}
LEVEL_WORDS = re.compile(rb"warning|error|critical", re.IGNORECASE)
"""Without one of these in it, nothing that was printed is a warning or an error."""


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Between two lines of a log: how many bytes of each of its files lie before."""

    stdout: int = 0
    stderr: int = 0
    events: int = 0

    @property
    def bytes(self) -> int:
        return self.stdout + self.stderr + self.events


START = LogPlace()


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a run's log."""

    source: LogSource
    text: str
    level: Level = ""
    time: float = 0.0
    """Unix seconds; 0 where nothing tells: logs of before lines had times."""
    place: LogPlace = START
    """Right before it."""
    after: LogPlace = START
    """Right after it."""


def line_of_event(event: Event) -> tuple[Level, str] | None:
    """An event in the log; what the charts show has no line."""
    level: Level = "INFO"
    match event.body:
        case RunStarted() as body:
            text = f"attempt {body.attempt} started · {body.algo} · {body.env_id} · seed {body.seed} · pid {body.pid}"
            if body.resumed_from_step is not None:
                text += f" · resumed from step {body.resumed_from_step:,}"
        case CheckpointSaved() as body:
            text = f"checkpoint saved · step {body.global_step:,} · {body.path}"
        case PolicySaved() as body:
            text = f"policy saved · step {body.global_step:,} · {body.path}"
        case VideoSaved() as body:
            text = f"video saved · episode {body.episode_id} · {body.path}"
        case EvalBatch() as body:
            level = "OK"
            mean, std = float(body.mean), float(body.std)
            text = f"evaluation batch {body.batch} · {body.episodes} episodes · return {mean:,.4g} ± {std:,.3g}"
        case Warned(message=message):
            level, text = "WARN", message
        case RunCompleted() as body:
            level, text = "OK", f"{'stopped' if body.stopped else 'finished'} · {body.global_step:,} steps"
        case RunFailed() as body:
            level, text = "ERR", f"{body.error} at step {body.global_step:,}: {body.message}"
        case _:
            return None
    return level, plain_line(text)


def line_of_output(line: bytes) -> tuple[Level, str]:
    """A line that a worker printed, as a terminal would show it."""
    text = plain(line.decode(errors="replace").rstrip("\n"))
    found = _LEVEL.search(text[:60])
    level = (found["structlog"] or found["bare"]).lower() if found else ""
    return _LEVELS.get(level, "INFO" if found else ""), text
