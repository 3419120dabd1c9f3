"""From the words of a run config to the players of a session."""

from collections.abc import Callable
from typing import Any

from mosaic.envs.settings.settings_schema import settings_schema
from mosaic.envs.wrapping.chosen_wrappers import known_for
from mosaic.errors import ActorFailed, ConfigError, Problem
from mosaic.play import actors
from mosaic.play.actor import Context
from mosaic.play.actor_thread import ActorThread, Answer
from mosaic.play.actors import policy, replayed
from mosaic.play.actors.human import DESCRIPTOR as HUMAN
from mosaic.play.actors.replayed import ReplayedActor
from mosaic.play.arenas.arena import Arena
from mosaic.play.arenas.arena_choice import seated
from mosaic.play.session.play_plan import Plan
from mosaic.play.session.player import Player
from mosaic.spec import environment_settings, policy_facts, wrappers
from mosaic.spec.actors import split
from mosaic.spec.episode_file import EpisodeFile, Shown

PERSON = "human"


class SeatedPlayers:
    """Makes hands for seats; `post` gets what they answer."""

    def __init__(self, plan: Plan, arena: Arena, post: Callable[[Answer], None]) -> None:
        self._plan = plan
        self._arena = arena
        self._post = post

    def players(self) -> dict[str, Player]:
        words = seated(self._plan.env_id, self._plan.options.actors, self._arena)
        return {seat: self._player(seat, word) for seat, word in words.items()}

    def actor_thread(self, seat: str, word: str) -> ActorThread | None:
        """An agent; None for a person, who is there already."""
        if word == PERSON:
            return None
        return ActorThread(word, actors.make(word, self._context(seat, word)), self._post)

    def _player(self, seat: str, word: str) -> Player:
        agent = self.actor_thread(seat, word)
        misfit = HUMAN.misfit(**self._arena.at(seat).kinds)
        if agent is None and misfit:
            raise ActorFailed(f"{self._arena.env_id}: {misfit}")
        person = None if misfit else ActorThread(PERSON, actors.make(PERSON, self._context(seat, PERSON)), self._post)
        return Player(seat, agent, person, self._plan.options.control)

    def _context(self, seat: str, word: str) -> Context:
        plan = self._plan
        given: Any = plan.options.actor_params.get(split(word)[0], {})
        if not isinstance(given, dict):
            raise ConfigError([Problem(f"extras.actor_params.{split(word)[0]}", "must be an object")], what="play")
        return Context(
            arena=self._arena.at(seat),
            seat=seat,
            home=plan.home,
            run_dir=plan.run_dir,
            deterministic=plan.options.deterministic,
            params=given,
        )


def shown(plan: Plan) -> Shown:
    """What the actors of this session are to see, as far as those that were trained or recorded tell."""
    if plan.options.observations != "auto":
        return plan.options.observations
    for word in plan.options.actors.values():
        name, argument = split(word)
        if name == policy.DESCRIPTOR.id and argument and policy.sees_pixels(argument, plan.home):
            return "pixels"
        if name == replayed.DESCRIPTOR.id and argument:
            return replayed.find(argument, plan.home).head.observations
    return "raw"


def settings_of(plan: Plan) -> dict[str, Any]:
    """Settings of the environment: those of the config, on top of those that a policy was trained with here.

    A replay takes place in the environment of its recording, whatever else is asked for.
    """
    trained: dict[str, Any] = {}
    for word in plan.options.actors.values():
        name, argument = split(word)
        if name == replayed.DESCRIPTOR.id and argument:
            return dict(replayed.find(argument, plan.home).head.env_settings)
        if name == policy.DESCRIPTOR.id and argument and not trained:
            facts = policy_facts.read(policy.find(argument, plan.home))
            trained = dict(facts.env_settings) if facts.env_id == plan.env_id else {}
    given = wrappers.merged(trained, plan.document.environment.settings)
    if given:
        schema = known_for(settings_schema(plan.env_id), wrappers.of_users(given))
        problems = environment_settings.problems_of(given, schema, env_id=plan.env_id)
        if problems:
            raise ConfigError(problems, what="play")
    return given


def check(plan: Plan, arena: Arena) -> None:
    """Make every actor once, and let go of it."""
    for player in SeatedPlayers(plan, arena, lambda _: None).players().values():
        player.close(1.0)


def recording_of(players: dict[str, Player]) -> EpisodeFile | None:
    """The recording that is replayed, if one is."""
    for player in players.values():
        if player.agent is not None and isinstance(player.agent.actor, ReplayedActor):
            return player.agent.actor.recording
    return None
