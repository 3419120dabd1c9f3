"""Q-learning over plans: which of those that apply to a goal is worth most in a situation.

A plan runs for as long as it takes until the next choice, so what it earned is discounted by the steps that it took
(the semi-Markov form of the update). The table is a JSON file:

    {"format": "mosaic-bdi-q-1", "env_id": …, "plans": …, "episodes": n, "values": {situation: {plan: [value, visits]}}}
"""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le

from mosaic import config
from mosaic.errors import ActorFailed
from mosaic.play.actors.bdi.bdi_actor import Settings
from mosaic.spec.files.shared_files import write_atomically

FORMAT = "mosaic-bdi-q-1"


@dataclass(frozen=True, kw_only=True)
class LearnerSettings(Settings):
    """Settings of an agent that learns which plan to choose."""

    learning_rate: Annotated[float, Gt(0), Le(1)] = 0.3
    """Share of the error that an update takes away."""
    discount: Annotated[float, Gt(0), Le(1)] = 0.99
    """Worth of a reward one step later."""
    exploration: Annotated[float, Ge(0), Le(1)] = 0.3
    """Share of choices that are made at random in a situation that is new."""
    exploration_visits: Annotated[int, Ge(1)] = 10
    """After this many choices in a situation that share is half as large, after twice as many a third, and so on."""
    learn: bool = True
    """Go on learning; else the best known plan is taken and nothing changes."""


@dataclass
class Table:
    """What every plan is worth in every situation that was met."""

    env_id: str
    plans: str
    episodes: int = 0
    values: dict[str, dict[str, list[float]]] = field(default_factory=dict[str, dict[str, list[float]]])

    def row(self, situation: str, plans: Sequence[str]) -> dict[str, list[float]]:
        row = self.values.setdefault(situation, {})
        for plan in plans:
            row.setdefault(plan, [0.0, 0])
        return row

    def save(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = {"format": FORMAT, **self.__dict__}
        write_atomically(path, json.dumps(data, indent=1) + "\n")


def load(path: Path) -> Table:
    try:
        data: Any = config.any_json(path.read_bytes())
        if data.pop("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        table = Table(**data)
        for row in table.values.values():
            for plan, (value, visits) in row.items():
                row[plan] = [float(value), int(visits)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ActorFailed(f"{path} is not a table of learnt plans: {error}") from error
    return table


@dataclass
class _Open:
    """A choice whose worth is not known yet."""

    cell: list[float]
    earned: float = 0.0
    discount: float = 1.0


class Learner:
    def __init__(self, table: Table, settings: LearnerSettings, *, greedy: bool) -> None:
        self.table = table
        self._settings = settings
        self._greedy = greedy or not settings.learn
        self._generator = random.Random(0)
        self._open: _Open | None = None

    def begin(self, seed: int) -> None:
        # What an episode that was broken off would have earned is not known: its last choice teaches nothing.
        self._generator, self._open = random.Random(seed), None

    def choose(self, situation: str, plans: Sequence[str]) -> str:
        row = self.table.row(situation, plans)
        most = max(row[plan][0] for plan in plans)
        self._settle(most)
        # Settling may have changed this very row.
        most = max(row[plan][0] for plan in plans)
        # Among equals any: where all is worth nothing yet, always the first would never find the reward.
        best = self._generator.choice([plan for plan in plans if row[plan][0] == most])
        visits = sum(row[plan][1] for plan in plans)
        half = self._settings.exploration_visits
        explores = self._generator.random() < self._settings.exploration * half / (half + visits)
        chosen = self._generator.choice(list(plans)) if explores and not self._greedy else best
        self._open = _Open(row[chosen])
        return chosen

    def earn(self, reward: float) -> None:
        if self._open is not None:
            self._open.earned += self._open.discount * reward
            self._open.discount *= self._settings.discount

    def end(self, *, terminated: bool) -> None:
        """The episode is over; one that was only cut off says nothing of what would have come."""
        if terminated:
            self._settle(0.0)
        self._open = None
        self.table.episodes += self._settings.learn

    def _settle(self, onward: float) -> None:
        done = self._open
        if done is None or not self._settings.learn:
            return
        target = done.earned + done.discount * onward
        done.cell[0] += self._settings.learning_rate * (target - done.cell[0])
        done.cell[1] += 1
