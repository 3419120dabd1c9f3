"""A run as lists show it: what its directory's `run.json` and events tell, and what a client receives."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, TypeAlias

from annotated_types import Ge, Le

from mosaic import config
from mosaic.errors import ConfigError, Problem
from mosaic.plain_text import plain_line
from mosaic.spec.event_fields import MAX_WHOLE
from mosaic.spec.files.shared_files import read_small, write_atomically
from mosaic.spec.run_dir import RunDir
from mosaic.spec.states import RunState

# Bounds are those of the message that carries a record: what no message can carry is refused when it is read.
Steps: TypeAlias = Annotated[int, Ge(0), Le(MAX_WHOLE)]
Unsigned: TypeAlias = Annotated[int, Ge(0), Le(2**32 - 1)]
Signed: TypeAlias = Annotated[int, Ge(-(2**31)), Le(2**31 - 1)]
Moment: TypeAlias = Annotated[float, Ge(-6e10), Le(1e11)]
"""Unix seconds of a year that has four digits."""


@dataclass(frozen=True, kw_only=True)
class Placed:
    """The part that only the daemon decides: kept in `run.json`, so that the index can be rebuilt from it."""

    run_id: str
    """ULID."""
    state: RunState = RunState.QUEUED
    """Where the run is in its life."""
    reason: str = ""
    """Why, where there is something to say."""
    kind: str = "train"
    """train, policy_eval or play."""
    label: str = ""
    """Name that the user gave it."""
    notes: str = ""
    """Free text."""
    tags: tuple[str, ...] = ()
    """Words that the user put on it, sorted."""
    algo: str = ""
    """Algorithm."""
    env_id: str = ""
    """Environment."""
    seed: Unsigned = 1
    """Seed."""
    group: str = ""
    """Shared by the runs of one submit over seeds."""
    priority: Signed = 0
    """Higher starts earlier."""
    cpus: Unsigned = 1
    """CPU slots it takes."""
    gpus: Annotated[float, Ge(0)] = 0.0
    """GPUs it takes; a fraction shares one."""
    total_timesteps: Steps = 0
    """Environment steps asked for."""
    config_digest: str = ""
    """SHA-256 of the config."""
    client_key: str = ""
    """Idempotency key of its submit."""
    submitted_at: Moment = 0.0
    """Unix seconds."""
    started_at: Moment = 0.0
    """Unix seconds; 0 before the start."""
    ended_at: Moment = 0.0
    """Unix seconds; 0 before the end."""
    engine: str = "local"
    """What starts its workers."""
    epoch: Unsigned = 0
    """Number of its newest start: one more for each, also for one whose worker never said that it began."""
    attempt: Annotated[int, Ge(0), Le(2**31 - 1)] = 0
    """0 before the first start, one more for each start."""
    resume_from: str = ""
    """Checkpoint that the next start goes on from, relative to the run directory; empty for the newest whole one."""
    parent: str = ""
    """Run whose checkpoint this one began from; empty if it began from nothing."""
    parent_step: Steps = 0
    """Step of that checkpoint."""
    exit_code: Signed | None = None
    """Of the worker; negative for a signal."""
    stderr_tail: tuple[str, ...] = ()
    """Last lines of stderr of a run that ended badly."""
    cancel_asked: bool = False
    """A person asked for the end."""
    pid: Unsigned = 0
    """Process id of the worker; 0 if there is none."""
    gpu_ids: tuple[Unsigned, ...] = ()
    """GPUs that it was given."""
    damage: str = ""
    """What was found damaged of the run's own files, and what was made of it."""

    @property
    def placed(self) -> "Placed":
        """This part alone."""
        return Placed(**{field.name: getattr(self, field.name) for field in fields(Placed)})


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The part that the events tell."""

    global_step: int = 0
    """Environment steps done."""
    steps_per_s: float = 0.0
    """Lately."""
    last_return: float | None = None
    """Mean return of the last 100 episodes, at most."""
    best_return: float | None = None
    """Highest of these means."""
    last_seq: int = 0
    """Newest event."""
    sparkline: tuple[float, ...] = ()
    """The course of the mean return, thinned."""
    damaged_lines: int = 0
    """Lines of events.jsonl that are kept out because they are damaged; a gap counts as one."""
    first_damaged_line: int = 0
    """Number of the first of them, from 1 on; 0 if there is none."""
    newer_events: int = 0
    """Events of a newer version of MOSAIC, which are left out."""
    warnings: tuple[str, ...] = ()
    """What it warned of, each once, the first of them."""
    events_bytes: int = 0
    """Size of events.jsonl when the above was read."""


@dataclass(frozen=True, kw_only=True)
class RunRecord(Placed, Progress):
    """Everything that is known of a run."""

    revision: int = 0
    """Grows with every change of any run."""
    run_dir: str = ""
    """Directory, on the daemon's host."""
    deleted: bool = field(default=False)
    """The run was removed."""

    @property
    def is_finished_script(self) -> bool:
        """A script decides itself when it is through, and the steps asked for may be no more than a guess."""
        return self.state is RunState.FINISHED and self.algo.endswith(".py")

    @property
    def steps_in_all(self) -> int:
        """Environment steps at the end: those asked for, of a finished script those that it made; 0 if unknown."""
        return self.global_step if self.is_finished_script else self.total_timesteps

    @property
    def done(self) -> float | None:
        """How much of it is done, 0 to 1; None where no number of steps was asked for."""
        if self.is_finished_script:
            return 1.0
        return min(self.global_step / self.total_timesteps, 1.0) if self.total_timesteps else None

    @property
    def eta_s(self) -> float | None:
        """Seconds to go at this rate."""
        left = self.total_timesteps - self.global_step
        if self.state is not RunState.RUNNING or self.steps_per_s <= 0 or left < 0 or not self.total_timesteps:
            return None
        return left / self.steps_per_s


PINNED = "pinned"
"""The tag of a run that stays at the top of lists."""
MOST_TAGS = 50
"""On one run."""
LONGEST_TAG = 40
_NOT_IN_A_TAG = re.compile(r"[\s,:\"'()]")


def tags_in(text: str) -> list[str]:
    """Of a text as users type it, with blanks or commas between the words."""
    return text.replace(",", " ").split()


def with_tags(run: Placed, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> tuple[str, ...]:
    """The tags of a run afterwards; ConfigError for what cannot be a tag."""
    problems = [Problem("", said) for tag in add if (said := _wrong_with(tag))]
    tags = tuple(sorted({*run.tags, *add} - set(remove)))
    if len(tags) > MOST_TAGS:
        problems.append(Problem("", f"a run has at most {MOST_TAGS} tags, this one would have {len(tags)}"))
    if problems:
        raise ConfigError(problems, what="tag")
    return tags


def _wrong_with(tag: str) -> str:
    if not tag:
        return "is empty: a tag is a word"
    if len(tag) > LONGEST_TAG:
        return f"'{tag:.20}…' is too long: at most {LONGEST_TAG} characters"
    if not tag.isprintable() or _NOT_IN_A_TAG.search(tag) or tag.startswith("-"):
        return f"'{plain_line(tag)}' is not a tag: one word, without spaces, commas, colons, quotes and brackets"
    return ""


def is_pinned(run: Placed) -> bool:
    return PINNED in run.tags


def damage_of(run: Placed | RunRecord) -> tuple[str, ...]:
    """What is wrong with the files of a run, in sentences; empty if nothing is."""
    said = [run.damage] if run.damage else []
    if isinstance(run, RunRecord) and run.damaged_lines:
        count = f"{run.damaged_lines:,} damaged line{'' if run.damaged_lines == 1 else 's'}"
        first = f", the first is line {run.first_damaged_line}" if run.damaged_lines > 1 else ""
        only = f" (line {run.first_damaged_line})" if run.damaged_lines == 1 else ""
        said.append(f"{count}{only} in events.jsonl{first}; the others count")
    if isinstance(run, RunRecord) and run.newer_events:
        many = "" if run.newer_events == 1 else "s"
        said.append(f"{run.newer_events:,} event{many} of a newer version of MOSAIC in events.jsonl; not counted")
    return tuple(said)


def write(run_dir: RunDir, placed: Placed) -> None:
    """Durable when this returns."""
    write_atomically(run_dir.record, json.dumps(config.to_json(placed), indent=1) + "\n")


def read(run_dir: RunDir) -> Placed:
    placed = read_file(run_dir.record)
    if placed.run_id != run_dir.run_id:
        problem = Problem("run_id", f"is '{placed.run_id:.40}', the directory is of run {run_dir.run_id}")
        raise ConfigError([problem], what=str(run_dir.record))
    return placed


def read_file(path: Path) -> Placed:
    """Of a copy, whose folder may have any name."""
    return config.from_json_text(Placed, read_small(path), what=str(path))
