"""Who has won how often, over the episodes of a session."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mosaic.config import JsonValue


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
