"""Where a session is: the episode, the step, what was got so far, and the last action."""

from dataclasses import dataclass, field
from typing import Any, Literal

from mosaic.play.actor import Choice
from mosaic.play.session.score import Score
from mosaic.spec.episode_file import Outcome as Ended


@dataclass
class Last:
    """The last step, for the clients."""

    seat: str = ""
    actor: str = ""
    choice: Choice | None = None
    reward: float = 0.0


@dataclass
class SessionProgress:
    episode: int = 0
    seed: int = 0
    t: int = 0
    global_step: int = 0
    observation: Any = None
    returns: dict[str, float] = field(default_factory=dict[str, float])
    over: Ended | Literal[""] = ""
    last: Last = field(default_factory=Last)
    score: Score = field(default_factory=Score)
    """Of all whole episodes so far."""
