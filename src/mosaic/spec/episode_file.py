"""A played episode: `episodes/episode-<n>.jsonl`, one JSON object a line, each written the moment it happened.

    {"kind": "head", "v": 1, "episode": 1, "env_id": "CartPole-v1", "seed": 1, "seats": {"agent_0": "random"}, ...}
    {"kind": "step", "t": 1, "seat": "agent_0", "actor": "random", "action": 0, "reward": 1.0, ...}
    {"kind": "end", "outcome": "terminated", "length": 17, "returns": {"agent_0": 17.0}, ...}

Seed and actions make the episode again, exactly; the digests tell whether they did. A process that is killed loses the
step that it was in: a file without an end is an episode that was cut short, and a torn last line is left out. Numbers
that JSON cannot carry are the strings "nan", "inf" and "-inf".
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, Le

from mosaic import config
from mosaic.config import JsonValue
from mosaic.errors import ConfigError, RecordingError
from mosaic.spec.events import Count, Number, Step
from mosaic.spec.files.files_of_run import open_regular
from mosaic.spec.run_record import Moment, Unsigned

VERSION = 1
MAX_LINE_BYTES = 64 * 2**20
"""A longer line is damaged: no observation is that large, and it has to be in memory to be read."""
TAIL_BYTES = 1 << 16
"""More than the last line of an episode takes."""
Outcome: TypeAlias = Literal["terminated", "truncated", "stopped"]
Order: TypeAlias = Literal["one", "turns", "together", "copies"]
"""Who acts when: one seat; one after the other; all, and then a step is made; each in a copy of its own, in turn."""

Shown: TypeAlias = Literal["raw", "pixels"]
"""What actors see: what the environment gives, or the stacks of pictures that algorithms with convolutions see."""


@dataclass(frozen=True, kw_only=True)
class EpisodeHead:
    """All that is needed to begin the episode again."""

    v: Literal[1] = VERSION
    """Version of this format."""
    run_id: str
    """The run that it was played in."""
    episode: Annotated[int, Ge(1), Le(2**32 - 1)]
    """1 for the first of its run."""
    env_id: str
    """Environment."""
    env_settings: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Its settings that are not as the id has them."""
    seed: Step
    """Seed of the reset."""
    seats: dict[str, str]
    """Actor of each seat when the episode began."""
    order: Order = "one"
    """Who acts when: one seat alone, seats in turns, all together, or each in a copy of the environment of its own."""
    observations: Shown = "raw"
    """What was seen: what the environment gives, or stacks of four 84×84 pictures, as algorithms on pictures see it."""
    versions: dict[str, str]
    """Versions of what it was played with: mosaic, gymnasium, numpy and the simulator."""
    digest: str
    """Digest of the first observation."""
    observation: JsonValue = None
    """The first observation, where observations are recorded."""
    started_at: Moment = 0.0
    """Unix seconds."""


@dataclass(frozen=True, kw_only=True)
class EpisodeStep:
    """One action and what came of it."""

    t: Count
    """1 for the first step of the episode."""
    seat: str
    """Who acted."""
    actor: str
    """Which actor acted for it."""
    action: JsonValue
    """The action, as the environment took it."""
    reward: Number
    """What the one who acted got for it at once."""
    rewards: dict[str, Number] | None = None
    """What each seat got, where there are several."""
    terminated: bool = False
    """The episode came to its end."""
    truncated: bool = False
    """The episode was cut off, by a time limit for example."""
    digest: str
    """Digest of the observation that followed; with several seats, of what the next one to act sees."""
    observation: JsonValue = None
    """That observation, where observations are recorded."""
    wall_s: float
    """Seconds since the episode began."""


@dataclass(frozen=True, kw_only=True)
class EpisodeEnd:
    """How it ended."""

    outcome: Outcome
    """By the environment, by a limit, or stopped by a person, a reset or an error."""
    length: Unsigned
    """Steps."""
    returns: dict[str, Number]
    """Sum of the rewards of each seat."""
    ended_at: Moment = 0.0
    """Unix seconds."""


Line: TypeAlias = EpisodeHead | EpisodeStep | EpisodeEnd
_KINDS: dict[str, type[Line]] = {"head": EpisodeHead, "step": EpisodeStep, "end": EpisodeEnd}
_NAMES = {cls: kind for kind, cls in _KINDS.items()}


@dataclass(frozen=True)
class EpisodeFile:
    """An episode as it was read."""

    path: Path
    head: EpisodeHead
    steps: list[EpisodeStep] = field(default_factory=list[EpisodeStep])
    end: EpisodeEnd | None = None

    @property
    def length(self) -> int:
        """Steps, so far where it was cut short."""
        return self.end.length if self.end else len(self.steps)

    @property
    def returns(self) -> dict[str, float]:
        """So far, where it was cut short."""
        if self.end is not None:
            return {seat: float(total) for seat, total in self.end.returns.items()}
        totals = dict.fromkeys(self.head.seats, 0.0)
        for step in self.steps:
            for seat, reward in (step.rewards or {step.seat: step.reward}).items():
                totals[seat] = totals.get(seat, 0.0) + float(reward)
        return totals


def encode(line: Line) -> str:
    """One line, without its line feed; what is unset is left out."""
    content = {key: value for key, value in vars(line).items() if value is not None}
    return json.dumps({"kind": _NAMES[type(line)], **content}, separators=(",", ":"), allow_nan=False)


def decode(text: bytes, *, what: str) -> Line:
    """One line; anything else raises RecordingError with the reason."""
    try:
        data: dict[str, Any] = config.loads(text, what=what)
        kind = data.pop("kind", None)
        if kind not in _KINDS:
            raise RecordingError(f"{what}: {kind!r} is not a kind of line; head, step and end are")
        return config.from_json(_KINDS[kind], data, what=what)
    except ConfigError as error:
        raise RecordingError(str(error)) from error


def read(path: Path) -> EpisodeFile:
    """A whole episode file, or RecordingError; the line that a kill tore is left out."""
    lines = _whole_lines(path)
    head = next(lines, None)
    if not isinstance(head, EpisodeHead):
        raise RecordingError(f"{path} is not a recorded episode: its first line is not a head")
    found, end = EpisodeFile(path, head), None
    for line in lines:
        if isinstance(line, EpisodeStep) and end is None:
            found.steps.append(line)
        elif isinstance(line, EpisodeEnd) and end is None:
            end = line
        else:
            raise RecordingError(f"{path} has a line after its end, or a second head")
    return EpisodeFile(path, head, found.steps, end)


def sum_up(path: Path) -> EpisodeFile:
    """The episode without its steps where its end tells of them; quick, however long it is."""
    try:
        with open_regular(path, follow=True) as file:
            first = file.readline(MAX_LINE_BYTES)
            file.seek(0, os.SEEK_END)
            file.seek(max(len(first), file.tell() - TAIL_BYTES))
            tail = file.read()
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from error
    last = tail.removesuffix(b"\n").rpartition(b"\n")[2]
    if not tail.endswith(b"\n") or not last.startswith(b'{"kind":"end"'):
        return read(path)
    head, end = decode(first, what=f"{path.name}, line 1"), decode(last, what=f"{path.name}, its last line")
    if not isinstance(head, EpisodeHead) or not isinstance(end, EpisodeEnd):
        return read(path)
    return EpisodeFile(path, head, end=end)


def _whole_lines(path: Path) -> Iterator[Line]:
    try:
        with open_regular(path, follow=True) as file:
            for number, text in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES), b""), start=1):
                if len(text) == MAX_LINE_BYTES:
                    raise RecordingError(f"{path.name}, line {number} has more than {MAX_LINE_BYTES:,} bytes")
                if text.endswith(b"\n"):
                    yield decode(text, what=f"{path.name}, line {number}")
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from error
