"""One agent through its episodes: it is told what it sees and what its actions earned, and decides on the next one.

A fresh agent is made of the plans for each episode, so nothing is carried over but what a chooser has learnt.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import agentspeak
from agentspeak import GoalType, Literal, Trigger, runtime

from cleanrl_worker.sdk.bdi import plan_file
from cleanrl_worker.sdk.bdi.agentspeak_agent import Clock, Mind
from cleanrl_worker.sdk.bdi.mailbox import Mailbox
from cleanrl_worker.sdk.bdi.plan_file import Program
from mosaic.envs.facts import Fact
from mosaic.errors import ActorFailed

Choose = Callable[[str, Sequence[str]], str]
"""Takes a situation and the names of the plans that apply in it, and returns one of them."""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What an agent knows of its environment, whatever it sees."""

    known: Sequence[Fact]
    """What holds for all episodes: the map."""
    action_names: Sequence[str]
    """Of a discrete space; empty for another one."""
    first_action: int
    """The number of the first of them."""
    to_action: Callable[[Any], Any]
    """What a plan acts with, a number or a list, as the environment's own; ActorFailed if it is none."""

    def called(self, action: Any) -> str:
        """The name of an action; empty if it has none."""
        try:
            at = int(action) - self.first_action
        except (TypeError, ValueError):
            return ""
        names = self.action_names
        return _word(names[at]) if 0 <= at < len(names) else ""

    def legal(self, mask: Any) -> list[Fact]:
        """The actions that are allowed, of one truth value for each; nothing where all are."""
        if mask is None:
            return []
        return [Fact("legal", (self.called(at + self.first_action),)) for at, may in enumerate(mask) if may]

    def action(self, term: Any) -> Any:
        """What a plan calls an action, as the environment's own."""
        numbers = {_word(name): at for at, name in enumerate(self.action_names)}
        word = agentspeak.asl_str(term) if agentspeak.is_atom(term) or isinstance(term, str) else None
        data = self.first_action + numbers[word] if word in numbers else _plain(term)
        try:
            return self.to_action(data)
        except ActorFailed as error:
            known = f"; it knows {', '.join(numbers)}" if numbers else ""
            raise agentspeak.AslError(f"act({agentspeak.asl_str(term)}): {error}{known}") from error


class Deliberation:
    """The agent of one seat, or of one environment of a training run."""

    def __init__(self, plans: Program, surroundings: Surroundings, box: Mailbox, *, name: str, max_cycles: int) -> None:
        self.plans = plans
        """What the next episode's agent is made of."""
        self.choose: Choose | None = None
        """Chooses among labelled plans; None takes the first one that applies."""
        self._surroundings = surroundings
        self._box = box
        self._name = name
        self._max_cycles = max_cycles
        self._mind: Mind | None = None
        self._clock = Clock()
        self._seed = 0
        self._last: list[Fact] = []
        self._seen: Sequence[Fact] = ()
        self._plan_names: dict[int, str] = {}

    def begin(self, seed: int) -> None:
        """An episode begins; all that is random in the agent begins anew from this seed."""
        self._seed, self._last = seed, []
        self.forget()
        self._box.turn_over()

    def forget(self) -> None:
        """A new agent is made at the next decision, which knows nothing of the steps before it."""
        self._mind = None

    def decide(self, seen: Sequence[Fact], *, step: int, legal: Any = None) -> Any:
        """The action; ActorFailed with the line of the plan file where the plans lead to none."""
        with plan_file.heard_by(self.plans.path):
            mind, begins = self._mind, self._mind is None
            if mind is None:
                mind = self._mind = self._made()
            self._clock.steps = step
            self._seen = seen
            time = Fact("time", (step,))
            mind.perceive([*self._surroundings.known, *seen, *self._last, time, *self._surroundings.legal(legal)])
            if begins:
                for goal in self.plans.initial_goals():
                    mind.want(goal)
            for (trigger, goal_type), message in self._box.emptied():
                mind.call(trigger, goal_type, message, runtime.Intention(), delayed=True)
            return mind.decide()

    def hear(self, action: Any, reward: float) -> None:
        """What was done, by it or by another one, and what that earned."""
        name = self._surroundings.called(action)
        self._last = [Fact("reward", (reward,)), *([Fact("last_action", (name,))] if name else [])]

    @property
    def note(self) -> str:
        """The goals that the last action serves, and what the plans printed."""
        return "" if self._mind is None else "; ".join(filter(None, [self._mind.intends(), *self._mind.printed]))

    def close(self) -> None:
        self._box.leave()

    def _made(self) -> Mind:
        mind, self._clock, self._plan_names = self.plans.mind(self._name)
        mind.generator = random.Random(self._seed)
        mind.to_action = self._surroundings.action
        mind.chooser = None if self.choose is None else self._chosen
        mind.send = self._send
        mind.max_cycles = self._max_cycles
        return mind

    def _chosen(self, goal: Any, plans: Sequence[Any]) -> Any:
        assert self.choose is not None
        names = {self._plan_names[id(plan)]: plan for plan in plans}
        return names[self.choose(f"!{goal} when {self._situation()}", list(names))]

    def _situation(self) -> str:
        """What the plans call relevant; else all that is seen."""
        assert self._mind is not None
        named = [str(belief.args[0]) for belief in self._mind.beliefs[("relevant", 1)]]
        return " & ".join(self._mind.all_of(named) if named else map(str, self._seen))

    def _send(self, receivers: Sequence[str], kind: tuple[Trigger, GoalType], message: Literal) -> None:
        try:
            self._box.send(receivers, (kind, message))
        except KeyError as error:
            raise agentspeak.AslError(f"there is no agent {error} in this session") from error


def _word(name: str) -> str:
    """An action's name as plans write it: `pick up` is `pick_up`."""
    return agentspeak.sanitize_functor(name) or name


def _plain(term: Any) -> Any:
    if agentspeak.is_list(term):
        return [_plain(each) for each in term]
    return term if isinstance(term, int | float) else agentspeak.asl_str(term)
