"""What can be said of an environment with numbered states, all of it, so that an agent can act without the simulator.

A training run steps its environments in whatever way is fastest, and a policy meets nothing but observations. So the
facts of the map and of every state are read off a simulator once, and travel with the policy.
"""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from gymnasium import spaces

from cleanrl_worker.sdk.bdi import plan_file
from cleanrl_worker.sdk.bdi.deliberation import Surroundings
from cleanrl_worker.sdk.bdi.plan_file import Program
from mosaic import envs
from mosaic.envs import facts
from mosaic.envs.action_names import action_names
from mosaic.envs.facts import Fact
from mosaic.envs.family import Family
from mosaic.errors import ActorFailed, EnvironmentFailed

MAX_STATES = 100_000


@dataclass(frozen=True, kw_only=True)
class Simulator:
    """One that was made to be looked at; a `mosaic.envs.facts.World`."""

    env_id: str
    family: Family
    env: Any

    @property
    def unwrapped(self) -> Any:
        return self.env.unwrapped


@contextmanager
def simulator(env_id: str, settings: Mapping[str, Any]) -> Generator[Simulator]:
    env = envs.make(env_id, render_mode=None, settings=settings)
    try:
        yield Simulator(env_id=env_id, family=envs.family_of(env_id), env=env)
    finally:
        env.close()


@dataclass(frozen=True)
class Beliefs:
    """Facts of an environment whose states and actions have numbers."""

    known: tuple[Fact, ...]
    """What holds in all states."""
    seen: tuple[tuple[Fact, ...], ...]
    """What each state says, by its number from 0."""
    action_names: tuple[str, ...]
    first_action: int

    @property
    def surroundings(self) -> Surroundings:
        count, first = len(self.action_names), self.first_action

        def to_action(data: Any) -> int:
            if isinstance(data, bool) or not isinstance(data, int | float) or data not in range(first, first + count):
                raise ActorFailed(f"{data!r:.200} is not an action")
            return int(data) - first

        return Surroundings(known=self.known, action_names=self.action_names, first_action=first, to_action=to_action)

    def to_text(self) -> str:
        content = {
            "known": [_to_json(fact) for fact in self.known],
            "seen": [[_to_json(fact) for fact in state] for state in self.seen],
            "action_names": self.action_names,
            "first_action": self.first_action,
        }
        return json.dumps(content, separators=(",", ":"))


def from_text(text: str) -> Beliefs:
    """What `to_text` made; ValueError, KeyError or TypeError for anything else."""
    content = json.loads(text)
    return Beliefs(
        tuple(map(_fact, content["known"])),
        tuple(tuple(map(_fact, state)) for state in content["seen"]),
        tuple(map(str, content["action_names"])),
        int(content["first_action"]),
    )


def plans_for(argument: str, env_id: str, settings: Mapping[str, Any]) -> Program | None:
    """The plans that a word means in this environment; None where its states or actions have no numbers."""
    with simulator(env_id, settings) as world:
        if not _is_numbered(world.env):
            return None
        first = int(world.env.action_space.start)
        return plan_file.chosen(argument, world, plan_file.LEARNING, action_names(world.env), first)


def of_environment(env_id: str, settings: Mapping[str, Any]) -> Beliefs:
    """Two simulators say the same, or there is nothing to rely on."""
    with simulator(env_id, settings) as first, simulator(env_id, settings) as second:
        found, again = _of(first), _of(second)
    if found != again:
        raise EnvironmentFailed(
            f"{env_id} has another map each time it is made, and an agent with beliefs must know which: choose one, as"
            " with --env.map_name 4x4"
        )
    return found


def _of(world: Simulator) -> Beliefs:
    states, actions = world.env.observation_space, world.env.action_space
    count, first = int(states.n), int(states.start)
    if count > MAX_STATES:
        raise EnvironmentFailed(f"{world.env_id} has {count} states; plans are for at most {MAX_STATES}")
    seen = tuple(tuple(facts.seen(world, state)) for state in range(first, first + count))
    return Beliefs(tuple(facts.known(world)), seen, action_names(world.env), int(actions.start))


def _is_numbered(env: Any) -> bool:
    return isinstance(env.observation_space, spaces.Discrete) and isinstance(env.action_space, spaces.Discrete)


def _to_json(fact: Fact) -> list[Any]:
    return [fact.name, *fact.args]


def _fact(data: Sequence[Any]) -> Fact:
    return Fact(str(data[0]), tuple(map(_value, data[1:])))


def _value(item: Any) -> Any:
    return tuple(map(_value, cast("list[Any]", item))) if isinstance(item, list) else item
