"""An AgentSpeak agent that is asked for one action at a time, within a bound on its reasoning.

The interpreter is the package agentspeak; this adds what a game needs of it: `act(…)` ends the reasoning of a step,
percepts come and go with the observation, the same seed gives the same reasoning, and nothing runs for ever.
"""

import collections
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import agentspeak
from agentspeak import GoalType, Literal, Trigger, runtime, stdlib

from cleanrl_worker.sdk.bdi.quick_rules import QuickRule
from mosaic.envs.facts import Fact, Value

Chooser = Callable[[Literal, Sequence[Any]], Any]
"""Takes a goal and the plans that apply to it, and returns one of them."""
Send = Callable[[Sequence[str], tuple[Trigger, GoalType], Literal], None]

STEP = Literal("step")
"""The goal of an agent that has no other."""
GOALS_SHOWN = 5
_PERCEPT = Literal("source", (Literal("percept"),))
_SAID = {
    "tell": (Trigger.addition, GoalType.belief),
    "untell": (Trigger.removal, GoalType.belief),
    "achieve": (Trigger.addition, GoalType.achievement),
}
_NOT_HERE = {(".dump", 0), (".control_flow", 0), (".range", 2), (".send", 3), (".broadcast", 2), (".random", 1)}
"""Actions of the interpreter that print, write files or draw from the shared generator; some are made anew below."""


class Stuck(agentspeak.AslError):
    """No action comes of the plans."""


class _Group(dict[Any, None]):
    """A set of beliefs in the order in which they came (a set's own changes with every process).

    It may change while it is walked through.
    """

    def add(self, belief: Any) -> None:
        self[belief] = None

    def remove(self, belief: Any) -> None:
        del self[belief]

    def __iter__(self) -> Iterator[Any]:
        return iter(tuple(self.keys()))


class _Beliefs(collections.defaultdict[Any, Any]):
    """Every look into the beliefs costs; so even a rule that calls itself for ever comes to an end."""

    def __init__(self, spend: Callable[[], None]) -> None:
        super().__init__(_Group)
        self._spend = spend

    def __getitem__(self, key: Any) -> Any:
        self._spend()
        return super().__getitem__(key)


class Clock(runtime.Environment):
    """Time is counted in steps of the environment: `.wait(2000)` waits for two of them."""

    steps = 0

    def time(self) -> float:
        return float(self.steps)


class Mind(runtime.Agent):
    """Made by `Clock.build_agent_from_ast`; what it must know is set afterwards, before it is asked for anything."""

    def __init__(self, env: Clock, name: str) -> None:
        self._spent = 0
        self._weighing = False
        self._percepts: dict[Literal, None] = {}
        self.max_cycles = 0
        """Instructions and looks into the beliefs that a step may take; 0 while the agent is built."""
        self.to_action: Callable[[Any], Any] = lambda term: term
        self.chooser: Chooser | None = None
        self.send: Send | None = None
        self.generator = random.Random(0)
        self.action: Any = None
        self.printed: list[str] = []
        super().__init__(env, name, beliefs=_Beliefs(self.spend))

    def add_rule(self, rule: Any) -> None:
        super().add_rule(QuickRule(rule.head, rule.query))

    def perceive(self, facts: Sequence[Fact]) -> None:
        """Believe these, and no longer what was perceived before."""
        self._spent = 0
        now = dict.fromkeys(literal(fact) for fact in facts)
        before, self._percepts = self._percepts, now
        for gone in [each for each in before if each not in now]:
            self.call(Trigger.removal, GoalType.belief, gone, runtime.Intention())
        for new in [each for each in now if each not in before]:
            self.call(Trigger.addition, GoalType.belief, new, runtime.Intention())

    def decide(self) -> Any:
        """Reason until a plan acts."""
        self.action, self.printed = None, []
        asked = False
        while self.action is None:
            self.spend()
            if self.step():
                continue
            if asked or not self.plans[(Trigger.addition, GoalType.achievement, STEP.functor, 0)]:
                raise Stuck(_nothing_to_do(asked=asked, waits=bool(self.intentions)))
            asked = True
            self.want(STEP)
        return self.action

    def want(self, goal: Literal) -> None:
        self.call(Trigger.addition, GoalType.achievement, goal, runtime.Intention(), delayed=True)

    def intends(self) -> str:
        """The goals of the intention that acts, outermost first; the innermost few, each once."""
        for stack in self.intentions:
            if stack:
                goals = dict.fromkeys(str(intention.head_term) for intention in stack)
                return " > ".join(list(goals)[-GOALS_SHOWN:])
        return ""

    def all_of(self, names: Sequence[str]) -> list[str]:
        """All that holds of these names, whatever their arguments, by belief or by rule; sorted."""
        groups = {group for store in (self.beliefs, self.rules) for group in store if group[0] in names}
        found: set[str] = set()
        for name, arity in groups:
            asked, tried = Literal(name, [agentspeak.Var() for _ in range(arity)]), runtime.Intention()
            for _ in runtime.TermQuery(asked).execute(self, tried):
                found.add(str(agentspeak.freeze(asked, tried.scope, {})))
        return sorted(found)

    def call(
        self, trigger: Trigger, goal_type: GoalType, term: Any, calling_intention: Any, delayed: bool = False
    ) -> Any:
        """As the interpreter does it, except that a chooser may choose among labelled plans that apply.

        Plans without a label keep their order, which is how one writes "otherwise"; where such a plan is the first that
        applies, it is taken.
        """
        self._weighing = True
        try:
            if self.chooser is not None and (trigger, goal_type) == (Trigger.addition, GoalType.achievement):
                goal: Any = agentspeak.freeze(term, calling_intention.scope, {})
                plans = self.plans[(trigger, goal_type, goal.functor, len(goal.args))]
                fitting = [plan for plan in plans if self._applies(plan, goal)]
                labelled = [plan for plan in fitting if plan.annotation is not None]
                if len(labelled) > 1 and fitting[0].annotation is not None:
                    key = (trigger, goal_type, goal.functor, len(goal.args))
                    kept, self.plans[key] = plans, [self.chooser(goal, labelled)]
                    try:
                        return super().call(trigger, goal_type, term, calling_intention, delayed)
                    finally:
                        self.plans[key] = kept
            return super().call(trigger, goal_type, term, calling_intention, delayed)
        finally:
            self._weighing = False

    def act(self, term: Any) -> None:
        if self._weighing:
            raise agentspeak.AslError("act(…) belongs into the body of a plan, not into its context")
        self.action = self.to_action(term)

    def _applies(self, plan: Any, goal: Literal) -> bool:
        tried = runtime.Intention()
        for _ in agentspeak.unify_annotated(plan.head, goal, tried.scope, tried.stack):
            for _ in plan.context.execute(self, tried):
                return True
        return False

    def spend(self) -> None:
        self._spent += 1
        if self.max_cycles and self._spent > self.max_cycles:
            raise Stuck(f"no action within {self.max_cycles} reasoning cycles: do the plans go round in a circle?")


def _nothing_to_do(*, asked: bool, waits: bool) -> str:
    if asked:
        return "the plan for +!step ended without act(…)"
    if waits:
        return "every intention waits, and there is no plan for +!step"
    return "no intention is left, and there is no plan for +!step"


def literal(fact: Fact) -> Literal:
    return Literal(fact.name, (term(arg) for arg in fact.args), frozenset([_PERCEPT]))


def term(value: Value) -> Any:
    """A word becomes an atom (`left`), any other text a string ("two words"), a tuple a list."""
    if isinstance(value, tuple):
        return tuple(term(each) for each in value)
    if isinstance(value, str) and value.isidentifier() and value[0].islower() and value not in agentspeak.KEYWORDS:
        return Literal(value)
    return value


def actions() -> agentspeak.Actions:
    """What plans may call."""
    made = agentspeak.Actions()
    known = stdlib.actions
    made.actions.update({key: call for key, call in known.actions.items() if key not in _NOT_HERE})
    made.variadic_actions.update({key: call for key, call in known.variadic_actions.items() if key != ".print"})
    made.add("act", 1, _act)
    made.add(".print", None, _print)
    made.add(".random", 1, _random)
    made.add(".range", 2, _range)
    made.add(".send", 3, _send)
    made.add(".broadcast", 2, _broadcast)
    return made


def _act(agent: Mind, term: Literal, intention: Any) -> Iterator[None]:
    agent.act(agentspeak.grounded(term.args[0], intention.scope))
    yield


def _print(agent: Mind, term: Literal, intention: Any) -> Iterator[None]:
    memo: dict[Any, Any] = {}
    words = (agentspeak.asl_str(agentspeak.freeze(each, intention.scope, memo)) for each in term.args)
    agent.printed.append(" ".join(words))
    yield


def _random(agent: Mind, term: Literal, intention: Any) -> Iterator[None]:
    if agentspeak.unify(term.args[0], agent.generator.random(), intention.scope, intention.stack):
        yield


def _range(agent: Mind, term: Literal, intention: Any) -> Iterator[None]:
    choicepoint = object()
    end: Any = agentspeak.grounded(term.args[0], intention.scope)
    for number in range(int(end)):
        agent.spend()
        intention.stack.append(choicepoint)
        if agentspeak.unify(term.args[1], number, intention.scope, intention.stack):
            yield
        agentspeak.reroll(intention.scope, intention.stack, choicepoint)


def _send(agent: Mind, term: Literal, intention: Any) -> Iterator[None]:
    named = agentspeak.grounded(term.args[0], intention.scope)
    receivers = list(named) if agentspeak.is_list(named) else [named]
    _say([agentspeak.asl_str(each) for each in receivers], agent, term.args[1:], intention)
    yield


def _broadcast(agent: Mind, term: Literal, intention: Any) -> Iterator[None]:
    _say([], agent, term.args, intention)
    yield


def _say(receivers: Sequence[str], agent: Mind, args: Sequence[Any], intention: Any) -> None:
    force = agentspeak.asl_str(agentspeak.grounded(args[0], intention.scope))
    if force not in _SAID:
        raise agentspeak.AslError(f"messages are one of {', '.join(_SAID)}, not '{force}'")
    message = agentspeak.freeze(args[1], intention.scope, {})
    if not isinstance(message, Literal) or agent.send is None:
        raise agentspeak.AslError(f"'{agentspeak.asl_str(message)}' cannot be said: a message is a literal")
    source = Literal("source", (Literal(agent.name),))
    agent.send(receivers, _SAID[force], message.with_annotation(source))
