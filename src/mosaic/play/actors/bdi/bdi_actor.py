"""The actor around an AgentSpeak agent: an agent for each episode, made anew from the file after a failure."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import agentspeak
from agentspeak import GoalType, Literal, Trigger, runtime
from annotated_types import Ge

from mosaic import config
from mosaic.errors import ActorFailed
from mosaic.play.actor import Choice, Context, Outcome, View
from mosaic.play.actors.bdi import mailbox, plan_file
from mosaic.play.actors.bdi.agentspeak_agent import Chooser, Clock, Mind
from mosaic.play.actors.bdi.plan_file import Program
from mosaic.play.arenas import facts
from mosaic.play.arenas.facts import Fact
from mosaic.play.json_values import action_from_json

Join = Callable[[Path, str], mailbox.Mailbox]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a BDI agent."""

    max_cycles: Annotated[int, Ge(100)] = 200_000
    """Instructions and looks into its beliefs that an agent may take for one action."""


class BdiActor:
    """Asks its agent; tells the user which goals the action serves and what the plans printed."""

    def __init__(
        self, plans: Program, context: Context, settings: Settings | None = None, *, join: Join = mailbox.join
    ) -> None:
        """`join` gives it the box by which it talks with others."""
        self._settings = settings or config.from_json(Settings, dict(context.params), what="actor_params.bdi")
        self._plans = plans
        self._arena = context.arena
        self._names = {_word(name): at for at, name in enumerate(context.arena.action_names)}
        self._start = int(getattr(context.arena.action_space, "start", 0))
        # Here, in the thread of the environment, and once: the map does not change.
        self._known = facts.known(context.arena)
        self._name = agentspeak.sanitize_functor(context.seat)
        self._box = join(context.run_dir.root, self._name)
        self._mind: Mind | None = None
        self._failed = False
        self._clock = Clock()
        self._seed = 0
        self._last: list[Fact] = []
        self.plan_names: dict[int, str] = {}
        """What each plan of the present agent is called."""
        self.chooser: Chooser | None = None

    @property
    def mind(self) -> Mind | None:
        return self._mind

    @property
    def plans(self) -> Program:
        return self._plans

    def reset(self, seed: int) -> None:
        self._mind, self._seed, self._last = None, seed, []
        self._box.turn_over()

    def select_action(self, view: View) -> Choice:
        try:
            with plan_file.heard_by(self._plans.path):
                return self._decided(view)
        except ActorFailed:
            # A user who fixes the file and continues gets a new agent, made from the file as it is then.
            self._mind, self._failed = None, True
            raise

    def observe(self, outcome: Outcome) -> None:
        name = self._called(outcome.action)
        self._last = [Fact("reward", (outcome.reward,)), *([Fact("last_action", (name,))] if name else [])]

    def close(self) -> None:
        self._box.leave()

    def percepts(self, view: View) -> list[Fact]:
        """What the agent is told at a step."""
        found = [*self._known, *facts.seen(self._arena, view.observation), *self._last, Fact("time", (view.step,))]
        if view.legal is not None:
            found += [Fact("legal", (self._called(at + self._start),)) for at, may in enumerate(view.legal) if may]
        return found

    def _decided(self, view: View) -> Choice:
        mind, begins = self._mind, self._mind is None
        if mind is None:
            mind = self._mind = self._begun()
        self._clock.steps = view.step
        mind.perceive(self.percepts(view))
        if begins:
            for goal in self._plans.initial_goals():
                mind.want(goal)
        for (trigger, goal_type), message in self._box.emptied():
            mind.call(trigger, goal_type, message, runtime.Intention(), delayed=True)
        action = mind.decide()
        return Choice(action=action, note="; ".join(filter(None, [mind.intends(), *mind.printed])))

    def _begun(self) -> Mind:
        if self._failed:
            self._plans, self._failed = plan_file.read(self._plans.path), False
        mind, self._clock, self.plan_names = self._plans.mind(self._name)
        mind.generator = random.Random(self._seed)
        mind.to_action = self._action
        mind.chooser = self.chooser
        mind.send = self._send
        mind.max_cycles = self._settings.max_cycles
        return mind

    def _send(self, receivers: Any, kind: tuple[Trigger, GoalType], message: Literal) -> None:
        try:
            self._box.send(receivers, (kind, message))
        except KeyError as error:
            raise agentspeak.AslError(f"there is no agent {error} in this session") from error

    def _action(self, term: Any) -> Any:
        """What a plan calls an action, as the environment's own."""
        word = agentspeak.asl_str(term) if agentspeak.is_atom(term) or isinstance(term, str) else None
        data = self._start + self._names[word] if word in self._names else _plain(term)
        try:
            return action_from_json(data, self._arena.action_space)
        except ActorFailed as error:
            known = f"; it knows {', '.join(self._names)}" if self._names else ""
            raise agentspeak.AslError(f"act({agentspeak.asl_str(term)}): {error}{known}") from error

    def _called(self, action: Any) -> str:
        try:
            at = int(action) - self._start
        except (TypeError, ValueError):
            return ""
        return list(self._names)[at] if 0 <= at < len(self._names) else ""


def _word(name: str) -> str:
    """An action's name as plans write it: `pick up` is `pick_up`."""
    return agentspeak.sanitize_functor(name) or name


def _plain(term: Any) -> Any:
    if agentspeak.is_list(term):
        return [_plain(each) for each in term]
    return term if isinstance(term, int | float) else agentspeak.asl_str(term)
