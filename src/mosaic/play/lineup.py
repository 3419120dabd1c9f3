"""From the words of a run config to the players of a session."""

from collections.abc import Callable
from typing import Any

from mosaic.errors import ActorFailed, ConfigError, Problem
from mosaic.play import actors
from mosaic.play.actor import Context
from mosaic.play.actors.human import DESCRIPTOR as HUMAN
from mosaic.play.actors.replayed import ReplayedActor
from mosaic.play.arena import Arena
from mosaic.play.plan import Plan
from mosaic.play.players import Player
from mosaic.play.seat import Answer, Hand
from mosaic.spec.actors import split
from mosaic.spec.episodes import EpisodeFile

PERSON = "human"


class Lineup:
    """Makes hands for seats; `post` gets what they answer."""

    def __init__(self, plan: Plan, arena: Arena, post: Callable[[Answer], None]) -> None:
        self._plan = plan
        self._arena = arena
        self._post = post

    def players(self) -> dict[str, Player]:
        words = check_seats(self._plan, self._arena)
        return {seat: self._player(seat, word) for seat, word in words.items()}

    def hand(self, seat: str, word: str) -> Hand | None:
        """An agent; None for a person, who is there already."""
        if word == PERSON:
            return None
        return Hand(word, actors.make(word, self._context(seat, word)), self._post)

    def _player(self, seat: str, word: str) -> Player:
        agent = self.hand(seat, word)
        fits = not HUMAN.misfit(**self._arena.kinds)
        if agent is None and not fits:
            raise ActorFailed(f"{self._arena.env_id}: {HUMAN.misfit(**self._arena.kinds)}")
        person = Hand(PERSON, actors.make(PERSON, self._context(seat, PERSON)), self._post) if fits else None
        return Player(seat, agent, person, self._plan.options.control)

    def _context(self, seat: str, word: str) -> Context:
        plan = self._plan
        given: Any = plan.options.actor_params.get(split(word)[0], {})
        if not isinstance(given, dict):
            raise ConfigError([Problem(f"extras.actor_params.{split(word)[0]}", "must be an object")], what="play")
        return Context(
            arena=self._arena,
            seat=seat,
            home=plan.home,
            run_dir=plan.run_dir,
            deterministic=plan.options.deterministic,
            params=given,
        )


def check_seats(plan: Plan, arena: Arena) -> dict[str, str]:
    """The actor of each seat; one that is named for a seat that is not there is a mistake."""
    words = plan.options.actors
    problems = [
        Problem(f"extras.actors.{seat}", f"{plan.env_id} has no such seat; it has {', '.join(arena.seats)}")
        for seat in words
        if seat not in arena.seats
    ]
    problems += [Problem(f"extras.actors.{seat}", "is missing") for seat in arena.seats if seat not in words]
    if problems:
        raise ConfigError(problems, what="play")
    return {seat: words[seat] for seat in arena.seats}


def check(plan: Plan, arena: Arena) -> None:
    """Make every actor once, and let go of it."""
    for player in Lineup(plan, arena, lambda _: None).players().values():
        player.close(1.0)


def recording_of(players: dict[str, Player]) -> EpisodeFile | None:
    """The recording that is replayed, if one is."""
    for player in players.values():
        if player.agent is not None and isinstance(player.agent.actor, ReplayedActor):
            return player.agent.actor.recording
    return None
