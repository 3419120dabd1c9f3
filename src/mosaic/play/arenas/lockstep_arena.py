"""The same environment several times over, in lock-step: each seat acts in a copy of its own, all from one seed."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mosaic.play.arenas.arena import Arena, Outcome, Picture, Result
from mosaic.spec.episode_file import Shown


class LockstepArena(Arena):
    """In lock-step: no copy makes a second step before all whose episodes go on have made the first."""

    order = "copies"

    def __init__(
        self,
        env_id: str,
        seats: Sequence[str],
        *,
        pictures: bool = True,
        observations: Shown = "raw",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.settings = settings or {}
        how: dict[str, Any] = {"pictures": pictures, "observations": observations, "settings": self.settings}
        self._copies = {seat: Arena(env_id, **how) for seat in seats}
        first = next(iter(self._copies.values()))
        self.observations = observations
        self.env_id, self.family = env_id, first.family
        self.observation_space, self.action_space = first.observation_space, first.action_space
        self.action_names, self.max_episode_steps = first.action_names, first.max_episode_steps
        self.pictures_problem = first.pictures_problem
        self.seats = tuple(seats)
        self.lengths = dict.fromkeys(seats, 0)
        """Steps of each copy."""
        self.info, self.rewards, self.news, self.over = {}, {}, (), ""
        self._turn = self.seats[0]

    @property
    def unwrapped(self) -> Any:
        return self._copies[self._turn].unwrapped

    @property
    def steps_per_s(self) -> float:
        """Of all copies together, so that each is seen at the rate that it means to be seen at."""
        return self._copies[self.seats[0]].steps_per_s * max(1, len(self._going))

    @property
    def versions(self) -> dict[str, str]:
        return self._copies[self.seats[0]].versions

    @property
    def turn(self) -> str:
        return self._turn

    @property
    def to_act(self) -> Sequence[str]:
        going = self._going
        return [seat for seat in self.seats[self.seats.index(self._turn) :] if seat in going] or (self._turn,)

    @property
    def shown(self) -> Sequence[Arena]:
        return tuple(self._copies.values())

    def at(self, seat: str) -> Arena:
        return self._copies[seat]

    def seen(self, seat: str) -> Any:
        return self._copies[seat].seen(seat)

    def info_at(self, seat: str) -> Mapping[str, Any]:
        return self._copies[seat].info

    def acted(self, seat: str, t: int) -> int:  # noqa: ARG002 - a copy knows nothing of the others
        return self.lengths[seat]

    def legal(self, seat: str) -> Any:
        return self._copies[seat].legal(seat)

    def reset(self, seed: int) -> Any:
        """The first observation, which is that of every copy."""
        observations = [copy.reset(seed) for copy in self._copies.values()]
        self.lengths = dict.fromkeys(self.seats, 0)
        self.over, self._turn = "", self.seats[0]
        self.info = self._copies[self._turn].info
        return observations[0]

    def step(self, action: Any) -> Result:
        seat, copy = self._turn, self._copies[self._turn]
        result = copy.step(action)
        self.lengths[seat] += 1
        self.rewards = dict.fromkeys(self.seats, 0.0) | {seat: result[1]}
        self.news = tuple(_of(seat, news) for news in copy.news)
        going = self._going
        if going:
            at = self.seats.index(seat)
            self._turn = next(each for each in (*self.seats[at + 1 :], *self.seats[: at + 1]) if each in going)
        else:
            ended = {copy.over for copy in self._copies.values()}
            self.over = "terminated" if "terminated" in ended else "truncated"
        self.info = self._copies[self._turn].info
        return result

    def render(self) -> Picture | None:
        """All of them, side by side."""
        pictures = [copy.render() for copy in self._copies.values()]
        self.pictures_problem = next((copy.pictures_problem for copy in self._copies.values()), "")
        return side_by_side(*pictures) if all(picture is not None for picture in pictures) else None

    def remake(self) -> None:
        for copy in self._copies.values():
            copy.remake()

    def close(self) -> None:
        for copy in self._copies.values():
            copy.close()

    @property
    def _going(self) -> list[str]:
        return [seat for seat, copy in self._copies.items() if not copy.over]


def side_by_side(*pictures: Picture | None) -> Picture:
    """Pictures next to each other, from the top, in colour; a lower one stands on black."""
    coloured = [in_colour(picture) for picture in pictures if picture is not None]
    height = max(picture.shape[0] for picture in coloured)
    framed = [np.pad(picture, ((0, height - picture.shape[0]), (0, 0), (0, 0))) for picture in coloured]
    return np.concatenate(framed, axis=1)


def in_colour(picture: Picture) -> Picture:
    """Three channels."""
    return picture[..., :3] if picture.ndim == 3 else picture[..., None].repeat(3, axis=2)


def _of(seat: str, news: Outcome) -> Outcome:
    from dataclasses import replace

    return replace(news, seat=seat)
