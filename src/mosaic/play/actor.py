"""What an actor is: four calls, made one after the other from a thread of its own, so that it may take its time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from mosaic.config import JsonValue
from mosaic.play.arenas.arena import Arena
from mosaic.play.arenas.arena import Outcome as Outcome
from mosaic.spec.run_dir import Home, RunDir


@dataclass(frozen=True, kw_only=True)
class View:
    """What the one who is to act sees."""

    observation: Any
    """As the environment gave it."""
    step: int
    """Actions of this episode so far, of all actors in the same environment."""
    seat: str
    """Whose turn it is."""
    info: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the environment says beside it."""
    legal: Any = None
    """One truth value an action where only some are allowed; None where all are."""
    picture: Any = None
    """What the environment renders, for an actor that says `wants_picture`; None where it cannot be drawn."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """An action, and what the actor can tell of why."""

    action: Any
    probabilities: tuple[float, ...] | None = None
    """Of each action of a discrete space."""
    values: tuple[float, ...] | None = None
    """What each action is worth to it, where it knows."""
    value: float | None = None
    """What it expects from here on."""
    note: str = ""
    """In words."""


class Cancelled(Exception):
    """Raised by an actor that was told to stop waiting."""


class Actor(Protocol):
    """Chooses the actions of a seat.

    Three attributes are looked for: `wants_picture`, to be given what is rendered; `waits_elsewhere`, for one that
    spends its time waiting (for a network, say), so that others who choose in the same round are asked meanwhile; and
    a method `cancel`, called from another thread when the session waits for the answer no more.
    """

    def reset(self, seed: int) -> None:
        """An episode begins. All random choices of the actor begin anew from this seed."""
        ...

    def select_action(self, view: View) -> Choice:
        """The action; takes as long as it must."""
        ...

    def observe(self, outcome: Outcome) -> None:
        """What came of the last action of its seat, also where another actor chose it."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class Summarised(Protocol):
    """An actor that has something to say at the end: what it cost, for example."""

    def summary(self) -> dict[str, Any]: ...


@dataclass(frozen=True, kw_only=True)
class Context:
    """What an actor may know when it is made."""

    arena: Arena
    seat: str
    home: Home
    run_dir: RunDir
    deterministic: bool = False
    params: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Its own settings, from the run config."""
