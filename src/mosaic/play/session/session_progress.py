"""Where a session is: the episode, the step, what was got so far, the last action, and who has won how often."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mosaic.config import JsonValue
from mosaic.play.actor import Choice
from mosaic.spec.episode_file import Outcome as Ended


@dataclass
class Last:
    """The last step, for the clients."""

    seat: str = ""
    actor: str = ""
    choice: Choice | None = None
    reward: float = 0.0


@dataclass
class Score:
    """The higher return wins; several that share the highest have drawn."""

    games: int = 0
    won: dict[str, int] = field(default_factory=dict[str, int])
    drawn: dict[str, int] = field(default_factory=dict[str, int])
    total: dict[str, float] = field(default_factory=dict[str, float])
    """Sum of the returns of each seat."""

    def take(self, returns: Mapping[str, float]) -> None:
        self.games += 1
        best = max(returns.values())
        first = [seat for seat, total in returns.items() if total == best]
        for seat, total in returns.items():
            self.total[seat] = self.total.get(seat, 0.0) + total
            if seat in first:
                counted = self.won if len(first) == 1 else self.drawn
                counted[seat] = counted.get(seat, 0) + 1

    def as_json(self) -> JsonValue:
        """By seat: won, drawn, lost, and the mean return."""
        return {
            seat: {
                "won": self.won.get(seat, 0),
                "drawn": self.drawn.get(seat, 0),
                "lost": self.games - self.won.get(seat, 0) - self.drawn.get(seat, 0),
                "mean": self.total[seat] / self.games,
            }
            for seat in self.total
        }


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
