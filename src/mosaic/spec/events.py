"""The events of a run: one JSON object a line in `events.jsonl`, versioned, with a gap-free sequence.

    {"v": 1, "seq": 7, "time": 1763200000.123, "kind": "episode", "global_step": 512, "slot": 3, ...}

`seq` starts at 1 and grows by one a line over all attempts of a run. `time` is the wall clock, for display; order comes
from `seq`. A resumed run writes a further `run.started` with `attempt` + 1 and `resumed_from_step`: curves drop what
earlier attempts logged after that step. Numbers that JSON cannot carry are the strings "nan", "inf" and "-inf".
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from annotated_types import Ge, Le

from mosaic import config
from mosaic.errors import ConfigError, SpoolCorrupt
from mosaic.spec.event_fields import MAX_WHOLE, QuickCheck

VERSION = 1
MAX_LINE_BYTES = 8 * 2**20
"""A longer line is damaged: no event is that long, and it has to be in memory to be read."""
MAX_COMPLAINTS = 10
MAX_ATTEMPT = 2**31 - 1
RETURN_TAG, LENGTH_TAG = "charts/episodic_return", "charts/episodic_length"
"""CleanRL's tags of the two numbers of an episode."""
SHAPED_RETURN_TAG = "charts/shaped_return"
"""Sum of the rewards that an algorithm got in an episode, where wrappers change those of the environment."""
EARLIEST, LATEST = -6e10, 1e11
"""Seconds since 1970 between which a time lies: years that have four digits, so that it can be shown."""

Number: TypeAlias = float | Literal["nan", "inf", "-inf"]
Whole: TypeAlias = Annotated[int, Ge(-MAX_WHOLE - 1), Le(MAX_WHOLE)]
Step: TypeAlias = Annotated[int, Ge(0), Le(MAX_WHOLE)]
Count: TypeAlias = Annotated[int, Ge(1), Le(MAX_WHOLE)]
CheckpointReason: TypeAlias = Literal["interval", "stop", "end"]


@dataclass(frozen=True, kw_only=True)
class RunStarted:
    """An attempt began: who runs what, and where from."""

    kind: ClassVar[str] = "run.started"
    algo: str
    """Algorithm, by its file name."""
    env_id: str
    """Environment."""
    seed: Whole
    """Seed of this run."""
    total_timesteps: Step
    """Environment steps that the run is asked for."""
    attempt: Annotated[int, Ge(1), Le(MAX_ATTEMPT)] = 1
    """1 for the first start, one more for each resume."""
    resumed_from_step: Step | None = None
    """Checkpoint that this attempt goes on from; null for a fresh start."""
    exact: bool = True
    """False if some part of the state could not be restored exactly (docs/protocols/checkpoint.md says which)."""
    pid: Step = 0
    """Process id of the worker."""
    host: str = ""
    """Machine of the worker."""
    code: str = ""
    """Eight characters that change with the code of the algorithm; empty where it is not known."""
    versions: dict[str, str] = field(default_factory=dict[str, str])
    """Of Python and the packages that it trains with, by name."""


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
    slot: Step
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
    reason: CheckpointReason
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
    episode_id: Step
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
    environments: Count
    """Environments that the run steps."""


@dataclass(frozen=True, kw_only=True)
class EvalBatch:
    """A batch of evaluation episodes is done."""

    kind: ClassVar[str] = "eval.batch"
    batch: Count
    """1 for the first batch."""
    episodes: Count
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
_QUICK = {kind: QuickCheck(body) for kind, body in KINDS.items()}


@dataclass(frozen=True)
class Event:
    """An event body with its place in the sequence."""

    seq: int
    time: float
    body: EventBody


class NewerEvent(SpoolCorrupt):
    """A whole event of a version that comes after this one: it has its place in the sequence, and cannot be read."""

    def __init__(self, message: str, seq: int) -> None:
        super().__init__(message)
        self.seq = seq


def number(value: float) -> Number:
    """A number as an event carries it."""
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def scalars_of(body: Scalars | Episode) -> dict[str, float]:
    """What a curve shows of an event, by tag: the one definition for TensorBoard, the daemon and trackers."""
    if isinstance(body, Episode):
        return {RETURN_TAG: float(body.episodic_return), LENGTH_TAG: float(body.episodic_length)}
    return {tag: float(value) for tag, value in body.values.items()}


def encode(event: Event) -> str:
    """One line, without its line feed."""
    head = {"v": VERSION, "seq": event.seq, "time": round(event.time, 3), "kind": event.body.kind}
    # vars() instead of dataclasses.asdict(): the latter deep-copies and costs more than the JSON.
    line = json.dumps(head | vars(event.body), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # A lone surrogate (a file name that is not UTF-8, in a message) has no UTF-8 form: it becomes "?".
    return line if line.isascii() else line.encode(errors="replace").decode()


def decode(line: str | bytes) -> Event:
    """One line; anything that is not an event of this version raises SpoolCorrupt with the reason."""
    if len(line) > MAX_LINE_BYTES:
        raise SpoolCorrupt(f"a line of {len(line):,} bytes; an event has at most {MAX_LINE_BYTES:,}")
    try:
        data: dict[str, Any] = config.loads(line, what="event")
        pop = data.pop
        version, seq, time, kind = pop("v"), pop("seq"), pop("time"), pop("kind")
    except ConfigError as error:
        raise SpoolCorrupt(str(error)) from error
    except KeyError as error:
        raise SpoolCorrupt(f"event without {error}: {line!r:.200}") from error
    if (
        type(seq) is not int
        or not 1 <= seq <= MAX_WHOLE
        or type(time) not in (int, float)
        or not EARLIEST < time < LATEST
    ):
        raise SpoolCorrupt(
            f"event with seq {seq!r:.40} and time {time!r:.40}: a whole number from 1 on and seconds since 1970"
            " are needed"
        )
    if type(version) is not int or version != VERSION:
        reason = f"event version {version!r:.40} is not {VERSION}; read it with the MOSAIC that wrote it"
        raise NewerEvent(reason, seq) if type(version) is int and version > VERSION else SpoolCorrupt(reason)
    if type(kind) is not str:
        raise SpoolCorrupt(f"event {seq}: unknown kind {kind!r:.200}")
    quick = _QUICK.get(kind)
    if quick is None:
        raise NewerEvent(f"event {seq}: unknown kind {kind!r:.200}", seq)
    body = quick.make(data) or quick.make(quick.without_unknown(data))
    if body is None:
        try:
            body = config.from_json(KINDS[kind], data, what=f"event {seq} ({kind})")
        except ConfigError as error:
            raise SpoolCorrupt(str(error)) from error
    event = object.__new__(Event)
    # Not by its constructor, as in QuickCheck.
    event.__dict__.update(seq=seq, time=float(time), body=body)
    return event


class EventReader:
    """The lines of a spool in, its events out, each once and in sequence; what is damaged is kept out and counted.

    A line is damaged if it holds no event, or if its `seq` repeats an earlier one. A damaged line explains why a number
    is missing. Where more are missing the line behind the gap is held until the next one tells which of the two is
    right: if that one goes on from the held line, events are missing before it; if not, the held line is damaged.
    """

    def __init__(self, *, lines: int = 0, last_seq: int = 0, skipped: int = 0) -> None:
        self.lines = lines
        """Lines that were read."""
        self.last_seq = last_seq
        """Of the newest event in sequence."""
        self.skipped = skipped
        """Damaged lines since then."""
        self.damaged = 0
        """Damaged lines; a gap counts as one."""
        self.first_damaged = 0
        """Number of the first damaged line, from 1 on; 0 if there is none."""
        self.newer = 0
        """Events of a newer version, which are left out."""
        self.complaints: list[str] = []
        """What is wrong with the first damaged lines."""
        self._held: tuple[int, Event | None, int] | None = None
        """Number, event and line of the line behind a gap."""
        self._skipped_since = 0
        """Damaged lines behind the held one."""

    @property
    def is_holding(self) -> bool:
        """Whether an event waits for the line behind it."""
        return self._held is not None

    def read(self, lines: Iterable[bytes]) -> list[Event]:
        """The events that stand in these whole lines, which are the next ones of the spool."""
        found: list[Event] = []
        for line in lines:
            self.lines += 1
            try:
                event = decode(line)
            except NewerEvent as error:
                self.newer += 1
                found += self._placed(error.seq, None)
            except SpoolCorrupt as error:
                self._leave_out(self.lines, str(error))
                if self._held is None:
                    self.skipped += 1
                else:
                    self._skipped_since += 1
            else:
                if event.seq == self.last_seq + 1 and self._held is None:
                    self.last_seq, self.skipped = event.seq, 0
                    found.append(event)
                else:
                    found += self._placed(event.seq, event)
        return found

    def rest(self) -> list[Event]:
        """The event that is held, once there is no further line: it counts, its number is not believed."""
        if self._held is None:
            return []
        seq, event, line = self._held
        self._leave_out(line, f"event {self.last_seq + 1} is missing, the next one is {seq}")
        self.last_seq, self.skipped, self._held = self.last_seq + 1 + self.skipped, self._skipped_since, None
        return [] if event is None else [event]

    def _placed(self, seq: int, event: Event | None) -> list[Event]:
        """What can be handed out now that this one has come."""
        if self._held is None:
            return self._after_last(seq, event)
        held_seq, held, line = self._held
        self._held = None
        if held_seq < seq <= held_seq + 1 + self._skipped_since:
            self._leave_out(line, f"event {self.last_seq + 1} is missing, the next one is {held_seq}")
            self.last_seq, self.skipped = seq, 0
            return [one for one in (held, event) if one is not None]
        self._leave_out(line, f"event {self.last_seq + 1} is missing, line {line} has number {held_seq}")
        self.skipped += 1 + self._skipped_since
        return self._after_last(seq, event)

    def _after_last(self, seq: int, event: Event | None) -> list[Event]:
        if seq <= self.last_seq:
            self._leave_out(self.lines, f"event {seq} comes twice, or too late: {self.last_seq} was there before")
            self.skipped += 1
        elif seq <= self.last_seq + 1 + self.skipped:
            self.last_seq, self.skipped = seq, 0
            return [] if event is None else [event]
        else:
            self._held, self._skipped_since = (seq, event, self.lines), 0
        return []

    def _leave_out(self, line: int, reason: str) -> None:
        self.damaged += 1
        self.first_damaged = min(line, self.first_damaged or line)
        if len(self.complaints) < MAX_COMPLAINTS:
            self.complaints.append(f"line {line} of events.jsonl: {reason}")
