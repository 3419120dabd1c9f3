"""The events of a run: one JSON object a line in `events.jsonl`, versioned, with a gap-free sequence.

    {"v": 1, "seq": 7, "time": 1763200000.123, "kind": "episode", "global_step": 512, "slot": 3, ...}

`seq` starts at 1 and grows by one a line over all attempts of a run. `time` is the wall clock, for people; order comes
from `seq`. A resumed run writes a further `run.started` with `attempt` + 1 and `resumed_from_step`: curves drop what
earlier attempts logged after that step. Numbers that JSON cannot carry are the strings "nan", "inf" and "-inf".
"""

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from annotated_types import Ge

from mosaic import config
from mosaic.errors import ConfigError, SpoolCorrupt

VERSION = 1
_LATEST_TIME = 1e12

Number: TypeAlias = float | Literal["nan", "inf", "-inf"]
Step: TypeAlias = Annotated[int, Ge(0)]


@dataclass(frozen=True, kw_only=True)
class RunStarted:
    """An attempt began: who runs what, and where from."""

    kind: ClassVar[str] = "run.started"
    algo: str
    """Algorithm, by its file name."""
    env_id: str
    """Environment."""
    seed: int
    """Seed of this run."""
    total_timesteps: Step
    """Environment steps that the run is asked for."""
    attempt: Annotated[int, Ge(1)] = 1
    """1 for the first start, one more for each resume."""
    resumed_from_step: Step | None = None
    """Checkpoint that this attempt goes on from; null for a fresh start."""
    exact: bool = True
    """False if some part of the state could not be restored exactly (docs/protocols/checkpoint.md says which)."""
    pid: int = 0
    """Process id of the worker."""
    host: str = ""
    """Machine of the worker."""


@dataclass(frozen=True, kw_only=True)
class Heartbeat:
    """The learner is alive and this far."""

    kind: ClassVar[str] = "run.heartbeat"
    global_step: Step
    """Environment steps so far, over all environments."""
    steps_per_s: float
    """Environment steps a second since the last heartbeat."""


@dataclass(frozen=True, kw_only=True)
class Scalars:
    """Metrics of one moment, under CleanRL's tags."""

    kind: ClassVar[str] = "scalars"
    global_step: Step
    """x axis."""
    values: dict[str, Number]
    """Tag to value."""


@dataclass(frozen=True, kw_only=True)
class Episode:
    """One environment finished an episode."""

    kind: ClassVar[str] = "episode"
    global_step: Step
    """Environment steps at its end."""
    slot: Annotated[int, Ge(0)]
    """Which of the parallel environments."""
    episodic_return: Number
    """Undiscounted sum of the environment's own rewards."""
    episodic_length: Step
    """Steps of the episode."""


@dataclass(frozen=True, kw_only=True)
class CheckpointSaved:
    """A train state is complete on disk."""

    kind: ClassVar[str] = "checkpoint.saved"
    global_step: Step
    """Step that a resume goes on from."""
    path: str
    """Folder, relative to the run directory."""
    reason: Literal["interval", "stop", "end"]
    """Why it was written."""


@dataclass(frozen=True, kw_only=True)
class PolicySaved:
    """The policy file was written."""

    kind: ClassVar[str] = "policy.saved"
    global_step: Step
    """Step of the weights."""
    path: str
    """File, relative to the run directory."""


@dataclass(frozen=True, kw_only=True)
class VideoSaved:
    """A video file is closed."""

    kind: ClassVar[str] = "video.saved"
    path: str
    """File, relative to the run directory."""
    episode_id: Annotated[int, Ge(0)]
    """Which episode."""
    episodic_return: Number
    """Its return."""
    episodic_length: Step
    """Its steps."""


@dataclass(frozen=True, kw_only=True)
class LiveViewOpened:
    """Live frames can be watched (docs/protocols/fastlane.md)."""

    kind: ClassVar[str] = "fastlane.opened"
    path: str
    """The ring, an absolute path on the worker's host."""
    environments: Annotated[int, Ge(1)]
    """Environments that the run steps."""


@dataclass(frozen=True, kw_only=True)
class EvalBatch:
    """A batch of evaluation episodes is done."""

    kind: ClassVar[str] = "eval.batch"
    batch: Annotated[int, Ge(1)]
    """1 for the first batch."""
    episodes: Annotated[int, Ge(1)]
    """Episodes in this batch."""
    mean: Number
    """Mean return."""
    std: Number
    """Standard deviation of the return."""
    minimum: Number
    """Lowest return."""
    maximum: Number
    """Highest return."""
    median: Number | None = None
    """Median return."""
    iqm: Number | None = None
    """Interquartile mean of the return."""
    iqm_low: Number | None = None
    """Lower end of its 95 % interval."""
    iqm_high: Number | None = None
    """Upper end of its 95 % interval."""
    mean_length: Number | None = None
    """Mean steps of an episode."""
    seed: Step | None = None
    """Seed of the batch's first episode; each further one has the next seed."""
    duration_s: float
    """Wall time."""


@dataclass(frozen=True, kw_only=True)
class Warned:
    """Something went wrong that does not end the run."""

    kind: ClassVar[str] = "run.warning"
    message: str
    """What, and what to do."""


@dataclass(frozen=True, kw_only=True)
class RunCompleted:
    """The attempt ended as asked: all steps done, its goal reached, or stopped by a signal after a checkpoint."""

    kind: ClassVar[str] = "run.completed"
    global_step: Step
    """Steps done."""
    stopped: bool = False
    """True if it ended before the last step."""
    reason: str = ""
    """Why it ended by itself before the last step; empty if a stop was asked for."""


@dataclass(frozen=True, kw_only=True)
class RunFailed:
    """The attempt ended in an error."""

    kind: ClassVar[str] = "run.failed"
    global_step: Step
    """Steps done."""
    error: str
    """Name of the error."""
    message: str
    """What happened and what to do next."""


EventBody: TypeAlias = (
    RunStarted
    | Heartbeat
    | Scalars
    | Episode
    | CheckpointSaved
    | PolicySaved
    | VideoSaved
    | LiveViewOpened
    | EvalBatch
    | Warned
    | RunCompleted
    | RunFailed
)
KINDS: Mapping[str, type[EventBody]] = {body.kind: body for body in EventBody.__args__}


@dataclass(frozen=True)
class Event:
    """An event body with its place in the sequence."""

    seq: int
    time: float
    body: EventBody


def number(value: float) -> Number:
    """A number as an event carries it."""
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def encode(event: Event) -> str:
    """One line, without its line feed."""
    head = {"v": VERSION, "seq": event.seq, "time": round(event.time, 3), "kind": event.body.kind}
    # vars() instead of dataclasses.asdict(): the latter deep-copies and costs more than the JSON.
    line = json.dumps(head | vars(event.body), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # A lone surrogate (a file name that is no UTF-8, in a message) has no UTF-8 form: it becomes "?".
    return line if line.isascii() else line.encode(errors="replace").decode()


def decode(line: str | bytes) -> Event:
    """One line; anything that is not an event of this version raises SpoolCorrupt with the reason."""
    try:
        data: dict[str, Any] = config.loads(line, what="event")
        version, seq, time, kind = (data.pop(key) for key in ("v", "seq", "time", "kind"))
    except ConfigError as error:
        raise SpoolCorrupt(str(error)) from error
    except KeyError as error:
        raise SpoolCorrupt(f"event without {error}: {line!r:.200}") from error
    if type(version) is not int or version != VERSION:
        raise SpoolCorrupt(f"event version {version} is not {VERSION}; read it with the MOSAIC that wrote it")
    if not isinstance(kind, str) or kind not in KINDS:
        raise SpoolCorrupt(f"event {seq}: unknown kind {kind!r:.200}")
    if type(seq) is not int or seq < 1 or type(time) not in (int, float) or not abs(time) < _LATEST_TIME:
        raise SpoolCorrupt(
            f"event with seq {seq!r} and time {time!r}: a whole number from 1 on and seconds since 1970 are needed"
        )
    try:
        return Event(seq, float(time), config.from_json(KINDS[kind], data, what=f"event {seq} ({kind})"))
    except ConfigError as error:
        raise SpoolCorrupt(str(error)) from error


def decode_spool(lines: Iterable[bytes]) -> Iterator[Event]:
    """The whole events of a spool, checked to be gap-free.

    A last line without a line feed is one that a kill cut off: it is left out. Any other broken line is an error.
    """
    expected = 1
    for line in lines:
        if not line.endswith(b"\n"):
            return
        event = decode(line)
        if event.seq != expected:
            raise SpoolCorrupt(f"event {expected} is missing: the next one has seq {event.seq}")
        expected += 1
        yield event


def field_docs(kind: str) -> list[str]:
    """Names of the fields of a kind, as docs/protocols/events.md lists them."""
    return [field.name for field in dataclasses.fields(KINDS[kind])]
