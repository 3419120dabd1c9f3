"""A PettingZoo environment: seats around a table, who act in turns, or together by choosing one after the other.

What one sees with an action mask beside it (`{"observation": …, "action_mask": …}`) is taken apart: the mask becomes
what is legal, and an action against it is refused before the environment sees it. A seat that is out is passed over.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from mosaic import envs
from mosaic.envs import pettingzoo
from mosaic.envs.action_names import known_names
from mosaic.envs.observations.action_masks import without_mask_part
from mosaic.envs.observations.parted_rows import MASK
from mosaic.errors import EnvironmentFailed
from mosaic.play.arenas.arena import Arena, Outcome, Picture, Result
from mosaic.play.arenas.pettingzoo_games import Game, Together, Turns

MAX_NAMES = 256


class GameArena(Arena):
    """All seats; `at(seat)` is what one of them knows."""

    def _make(self) -> Any:
        if not self._pictures:
            self.pictures_problem = "the session was started without pictures"
        made = envs.make_for_several(
            self.env_id, render_mode="rgb_array" if self._pictures else None, settings=self.settings
        )
        if self._pictures and getattr(made.env, "render_mode", None) != "rgb_array":
            self.pictures_problem = f"{self.env_id} cannot be drawn: it has no render mode rgb_array"
        self.order = made.order
        self._game: Game = Turns(made.env) if made.order == "turns" else Together(made.env)
        return made.env

    def _know(self) -> None:
        self.seats = tuple(str(seat) for seat in self._env.possible_agents)
        self._sides = {seat: Side(self, seat, self._env) for seat in self.seats}
        first = self._sides[self.seats[0]]
        self.observation_space, self.action_space = first.observation_space, first.action_space
        self.action_names = first.action_names
        self.max_episode_steps = None
        self._done: dict[str, Any] = {}
        """The last action of each seat that has not heard yet what came of it."""
        self._gained = dict.fromkeys(self.seats, 0.0)

    @property
    def versions(self) -> dict[str, str]:
        return super().versions | pettingzoo.versions()

    @property
    def steps_per_s(self) -> float:
        """Choices, not rounds: where all act together, as many as there are seats make one step of the game."""
        return super().steps_per_s * (len(self.seats) if self.order == "together" else 1)

    @property
    def turn(self) -> str:
        return self._game.turn or self.seats[0]

    @property
    def to_act(self) -> Sequence[str]:
        return self._game.to_act or (self.turn,)

    def at(self, seat: str) -> Arena:
        return self._sides[seat]

    def seen(self, seat: str) -> Any:
        return without_mask_part(self._game.observe(seat))

    def info_at(self, seat: str) -> Mapping[str, Any]:
        return self._game.info(seat)

    def legal(self, seat: str) -> Any:
        observed, info = self._game.observe(seat), self._game.info(seat)
        return observed[MASK] if isinstance(observed, dict) and MASK in observed else info.get(MASK)

    def refusal(self, seat: str, action: Any) -> str:
        mask = self.legal(seat)
        space = self._sides[seat].action_space
        if mask is None or not isinstance(space, spaces.Discrete) or np.asarray(mask)[int(action) - int(space.start)]:
            return ""
        allowed = (np.flatnonzero(mask) + int(space.start)).tolist()
        return f"which the rules do not allow now; allowed is {_some(allowed)}"

    def reset(self, seed: int) -> Any:
        try:
            self._game.reset(seed)
            if not self._game.turn:
                raise ValueError("no seat is to act")
            self.info = self._game.info(self.turn)
            self._observation = self.seen(self.turn)
        except Exception as error:  # A border: a user's environment may raise anything.
            raise EnvironmentFailed(f"{self.env_id} raised in reset(): {error!r}") from error
        self.over, self._done, self._gained = "", {}, dict.fromkeys(self.seats, 0.0)
        return self._observation

    def step(self, action: Any) -> Result:
        seat = self._game.turn
        try:
            got = self._game.act(action)
            # What the next one sees; at the end, what the last one saw of it.
            looking = self._game.turn or seat
            self._observation, self.info = self.seen(looking), self._game.info(looking)
        except Exception as error:  # A border: as above.
            raise EnvironmentFailed(f"{self.env_id} raised in step(): {error!r}") from error
        self.rewards = {each: float(got.get(each, 0.0)) for each in self.seats}
        if not self._game.turn:
            ended = self._game.ended.values()
            self.over = "terminated" if any(terminated for terminated, _ in ended) else "truncated"
        self._done[seat] = action
        self.news = self._told(seat)
        return self._observation, self.rewards[seat], self.over == "terminated", self.over == "truncated"

    def _told(self, acted: str) -> list[Outcome]:
        """A seat hears what came of its action when it is to act again, and when it is out."""
        for seat, reward in self.rewards.items():
            self._gained[seat] += reward
        # Together: all choices have an outcome once the first one is asked again.
        round_over = self.order == "together" and self.seats.index(self.turn) <= self.seats.index(acted)
        told: list[Outcome] = []
        for seat in [each for each in self.seats if each in self._done]:
            terminated, truncated = self._game.ended.get(seat, (False, False))
            out = terminated or truncated or not self._game.turn
            if not (out or round_over or (self.order == "turns" and seat == self._game.turn)):
                continue
            told.append(
                Outcome(
                    seat=seat,
                    action=self._done.pop(seat),
                    observation=self.seen(seat),
                    reward=self._gained[seat],
                    terminated=terminated,
                    truncated=truncated,
                    info=self._game.info(seat),
                )
            )
            self._gained[seat] = 0.0
        return told


class Side(Arena):
    """What the actor of one seat may know of the table."""

    def __init__(self, table: GameArena, seat: str, env: Any) -> None:
        self.env_id, self.family, self.order = table.env_id, table.family, table.order
        self._table, self._env = table, env
        self.seats = (seat,)
        self.observation_space = pettingzoo.without_mask(env.observation_space(seat))
        self.action_space = env.action_space(seat)
        self.max_episode_steps = None
        self.action_names = _names(self.env_id, self.action_space)
        self.pictures_problem = table.pictures_problem

    @property
    def turn(self) -> str:
        return self._table.turn

    def seen(self, seat: str) -> Any:
        return self._table.seen(seat)

    def legal(self, seat: str) -> Any:
        return self._table.legal(seat)

    def render(self) -> Picture | None:
        return self._table.render()


def _names(env_id: str, space: gymnasium.Space[Any]) -> tuple[str, ...]:
    # Thousands of mere numbers, as in chess, tell a user nothing.
    if not isinstance(space, spaces.Discrete) or int(space.n) > MAX_NAMES:
        return ()
    if names := known_names(env_id, int(space.n)):
        return names
    return tuple(str(int(space.start) + at) for at in range(int(space.n)))


def _some(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:12])) + (" and more" if len(numbers) > 12 else "")
