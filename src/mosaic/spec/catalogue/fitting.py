"""Whether an algorithm can learn in an environment, in the same words wherever that is asked."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from mosaic.errors import Problem
from mosaic.spec import wrappers
from mosaic.spec.catalogue.known_environments import Found

PIXELS = "pixels"
STATES = "discrete"
"""Observations that are the number of a state."""
ONLY_IN = "only_in"
"""Of the schema of an algorithm: the ids of the environments that it can learn in, where that is not all."""
OFFLINE = "offline"
"""Of the schema of an algorithm: it learns from a data set, which must be named."""


class Needs(Protocol):
    """Of an algorithm: what it can act in and see."""

    @property
    def name(self) -> str: ...
    @property
    def actions(self) -> str: ...
    @property
    def observations(self) -> str: ...
    @property
    def schema(self) -> Mapping[str, Any]: ...


def spelled(kinds: str | Sequence[str]) -> str:
    """The kinds of actions that an algorithm's file names, as catalogues have them: `discrete, multi_discrete`."""
    return kinds if isinstance(kinds, str) else ", ".join(kinds)


def kinds_of(spelled: str) -> list[str]:
    """The kinds that `spelled` has put into one text."""
    return spelled.split(", ")


def misfit(needs: Needs, environment: Found, algorithms: Iterable[Needs]) -> str:
    """Why this algorithm cannot learn there, and which can; empty if nothing is known that speaks against it."""
    env_id, actions, shown = environment.env_id, environment.actions, environment.observations
    if is_elsewhere(needs, environment):
        return not_there(needs.name, env_id, only_in(needs), fitting(algorithms, actions, shown) if actions else ())
    if has_wrong_actions(needs, environment):
        fits = fitting(algorithms, actions, shown)
        return wrong_actions(needs.name, needs.actions, env_id, environment.action_space or actions, fits)
    if lacks_pictures(needs, environment):
        fits = fitting(algorithms, actions, shown)
        return no_pictures(needs.name, env_id, environment.observation_space or shown, fits)
    if lacks_states(needs, environment):
        fits = fitting(algorithms, actions, shown)
        return no_states(needs.name, env_id, environment.observation_space or shown, fits)
    return ""


def has_wrong_actions(needs: Needs, environment: Found) -> bool:
    return bool(environment.actions and needs.actions) and environment.actions not in kinds_of(needs.actions)


def lacks_pictures(needs: Needs, environment: Found) -> bool:
    return needs.observations == PIXELS and environment.observations not in ("", PIXELS)


def lacks_states(needs: Needs, environment: Found) -> bool:
    return needs.observations == STATES and environment.observations not in ("", STATES)


def only_in(needs: Needs) -> Sequence[str]:
    """Empty for an algorithm that can learn in any environment."""
    return needs.schema.get(ONLY_IN, ())


def is_elsewhere(needs: Needs, environment: Found) -> bool:
    is_known = environment.status != "unknown"
    return is_known and bool(only_in(needs)) and environment.env_id not in only_in(needs)


def wrappers_around_tensors(needs: Needs, settings: Mapping[str, Any]) -> list[Problem]:
    """An algorithm that steps its environments as functions of tensors has nothing that a wrapper could be around."""
    named = wrappers.of(settings) if only_in(needs) else ()
    reason = f"{needs.name} has its environments as functions of tensors, without wrappers; leave out"
    return [Problem(wrappers.FLAG, f"{reason} {', '.join(one.name for one in named)}")] if named else []


def fitting(algorithms: Iterable[Needs], actions: str, shown: str) -> list[str]:
    """Names of those that learn there as they are typed: on pictures those with convolutions, if there are any.

    One that needs a data set, or that knows few environments, is named by its own page.
    """
    able = [
        one
        for one in algorithms
        if actions in kinds_of(one.actions)
        and (one.observations != STATES or shown == STATES)
        and not one.schema.get(OFFLINE)
        and not only_in(one)
    ]
    seen = [one for one in able if (one.observations == PIXELS) == (shown == PIXELS)]
    return sorted(one.name for one in seen or [one for one in able if one.observations != PIXELS])


def wrong_actions(algo: str, wanted: str, env_id: str, has: str, fits: Sequence[str]) -> str:
    """`has` is an action space as Gymnasium writes it, or a kind of actions."""
    return (
        f"{algo} needs {' or '.join(kinds_of(wanted))} actions, {env_id} has {_space(has, 'actions')}: {advice(fits)}"
    )


def no_pictures(algo: str, env_id: str, shows: str, fits: Sequence[str]) -> str:
    return f"{algo} needs pictures, {env_id} shows {_space(shows, 'observations')}: {advice(fits)}"


def no_states(algo: str, env_id: str, shows: str, fits: Sequence[str]) -> str:
    return f"{algo} needs discrete observations, {env_id} shows {_space(shows, 'observations')}: {advice(fits)}"


def not_there(algo: str, env_id: str, there: Sequence[str], fits: Sequence[str]) -> str:
    said = f"{algo} learns only in {', '.join(there)}, not in {env_id}"
    return f"{said}: {advice(fits)}" if fits else said


def for_several(env_id: str) -> str:
    return f"'{env_id}' is for several players: 'mosaic play' can, nothing here trains in it"


def advice(fits: Sequence[str]) -> str:
    return f"use {', '.join(fits)}" if fits else "no algorithm here fits it"


def _space(text: str, what: str) -> str:
    """`Box(-2.0, 2.0, (1,), float32)` says it all; `continuous` needs a noun."""
    return text if "(" in text else f"{text} {what}"
