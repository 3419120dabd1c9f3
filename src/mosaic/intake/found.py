"""What a folder of another tool holds, in our words."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from mosaic.errors import MosaicError
from mosaic.spec import events
from mosaic.spec.events import LENGTH_TAG, RETURN_TAG, Episode, EventBody, Scalars

Tool: TypeAlias = str
"""The name of the tool: CleanRL, Stable-Baselines3, TensorBoard, Weights & Biases, MOSAIC."""
UNKNOWN = "unknown"
_LABEL = re.compile(r"(?P<env>.+?)__(?P<algo>.+)__(?P<seed>\d+)__(?P<time>\d{9,11})")


class NotImportable(MosaicError):
    """A folder that looks like a run and is none; the reason is the message."""


@dataclass(frozen=True)
class Moment:
    """Something that happened, and when."""

    time: float
    body: EventBody


@dataclass(frozen=True, kw_only=True)
class Found:
    """A run of another tool, read whole."""

    tool: Tool
    path: Path
    """Where it lies."""
    identity: str
    """The same wherever the folder is moved to, and however much it grows."""
    label: str
    algo: str = UNKNOWN
    env_id: str = UNKNOWN
    seed: int = 1
    total_timesteps: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Hyperparameters under their own names."""
    moments: Sequence[Moment] = ()
    """Every number, in the order of time."""
    files: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """What is copied: name in the run directory, and where it comes from."""
    is_unpacked: bool = False
    """Its files were unpacked for the import, and may be moved in the place of being copied."""
    exit_code: int | None = 0
    """As far as the tool wrote it down; None if it says that the run was cut off."""
    remarks: Sequence[str] = ()
    """What is missing of it."""

    @property
    def last_step(self) -> int:
        return max((getattr(moment.body, "global_step", 0) for moment in self.moments), default=0)


@dataclass(frozen=True)
class Name:
    """The parts of CleanRL's run name."""

    env_id: str
    algo: str
    seed: int


def name_of(label: str) -> Name | None:
    """`CartPole-v1__ppo__1__1700000000`; None for any other name."""
    match = _LABEL.fullmatch(label)
    return Name(match["env"], match["algo"], int(match["seed"])) if match else None


def moments_of(points: Iterable[tuple[float, int, str, float]]) -> Iterator[Moment]:
    """Points (time, step, tag, value) in the order in which they were logged, joined to one event for each step.

    A return with its length is an episode, as CleanRL logs the two one after the other.
    """
    joined: dict[str, float] = {}
    step, time = 0, 0.0
    for at, point_step, tag, value in points:
        if joined and (point_step != step or tag in joined):
            yield from joined_moments(time, step, joined)
            joined = {}
        step, time = point_step, at
        joined[tag] = value
    yield from joined_moments(time, step, joined)


def joined_moments(time: float, step: int, values: Mapping[str, float]) -> Iterator[Moment]:
    """The event or two events of one step."""
    rest = dict(values)
    length = rest.get(LENGTH_TAG, math.nan)
    if RETURN_TAG in rest and math.isfinite(length) and length >= 0:
        score = events.number(rest.pop(RETURN_TAG))
        del rest[LENGTH_TAG]
        yield Moment(time, Episode(global_step=step, slot=0, episodic_return=score, episodic_length=int(length)))
    if rest:
        yield Moment(time, Scalars(global_step=step, values={tag: events.number(one) for tag, one in rest.items()}))
