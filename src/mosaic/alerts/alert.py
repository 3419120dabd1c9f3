"""An alert: what a run did that its user wants to know, once for each cause of an attempt."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast, get_args

from mosaic.spec.run_record import Moment, Steps

Cause: TypeAlias = Literal["nan", "collapse", "no_progress", "end", "failure"]
CAUSES: tuple[Cause, ...] = get_args(Cause)
ALL, NONE = "all", "none"
DESKTOP = "desktop"
"""The receiver that is always there: a notification on the desktop of the daemon's machine, or of the window's."""


class NotTold(Exception):
    """Why a receiver could not be told, for the user; without what may be secret."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What the rules found in a run."""

    cause: Cause
    """Which rule."""
    global_step: Steps
    """Where."""
    text: str
    """What, with its numbers."""


@dataclass(frozen=True, kw_only=True)
class Alert:
    """A finding of an attempt of a run, as it is kept and sent."""

    alert_id: str
    """Run, attempt and cause: the same for every try to send it."""
    number: int
    """Grows by one an alert, over all runs of the home."""
    run_id: str
    """ULID."""
    attempt: int
    """Of the run."""
    cause: str
    """nan, collapse, no_progress, end or failure."""
    title: str
    """The run and the cause, on one line."""
    text: str
    """What happened, with its numbers."""
    time: Moment
    """Unix seconds."""
    global_step: Steps = 0
    """Environment steps of the run."""
    label: str = ""
    """Of the run."""
    algo: str = ""
    """Of the run."""
    env_id: str = ""
    """Of the run."""
    seed: int = 0
    """Of the run."""
    state: str = ""
    """Of the run."""
    to: tuple[str, ...] = field(default=())
    """Names of the receivers that are told."""


def causes_of(words: str) -> tuple[Cause, ...]:
    """`nan,failure`, `all` or `none`; ValueError for anything else."""
    named = names_of(words)
    if named == (ALL,):
        return CAUSES
    if named in ((), (NONE,)):
        return ()
    if wrong := [name for name in named if name not in CAUSES]:
        raise ValueError(f"'{wrong[0]}' is not a cause of an alert: {', '.join(CAUSES)}, or {ALL}, or {NONE}")
    return cast("tuple[Cause, ...]", named)


def names_of(words: str) -> tuple[str, ...]:
    """Names that are separated by commas."""
    return tuple(dict.fromkeys(name for word in words.split(",") if (name := word.strip().replace("-", "_"))))


def receivers_of(words: str) -> tuple[str, ...]:
    """`phone,desktop` or `none`."""
    named = tuple(dict.fromkeys(name for word in words.split(",") if (name := word.strip())))
    return () if named == (NONE,) else named
