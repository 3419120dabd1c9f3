"""Whether an algorithm can learn in an environment, in the same words wherever that is asked."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from mosaic.spec.catalogue.known_environments import Found

PIXELS = "pixels"
STATES = "discrete"
"""Observations that are the number of a state."""


class Needs(Protocol):
    """Of an algorithm: what it can act in and see."""

    @property
    def name(self) -> str: ...
    @property
    def actions(self) -> str: ...
    @property
    def observations(self) -> str: ...


def spelled(kinds: str | Sequence[str]) -> str:
    """The kinds of actions that an algorithm's file names, as catalogues have them: `discrete, multi_discrete`."""
    return kinds if isinstance(kinds, str) else ", ".join(kinds)


def kinds_of(spelled: str) -> list[str]:
    """The kinds that `spelled` has put into one text."""
    return spelled.split(", ")


def misfit(needs: Needs, environment: Found, algorithms: Iterable[Needs]) -> str:
    """Why this algorithm cannot learn there, and which can; empty if nothing is known that speaks against it."""
    env_id, actions, shown = environment.env_id, environment.actions, environment.observations
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


def fitting(algorithms: Iterable[Needs], actions: str, shown: str) -> list[str]:
    """Names of those that can learn there: on pictures those with convolutions, if there are any for these actions."""
    able = [
        one
        for one in algorithms
        if actions in kinds_of(one.actions) and (one.observations != STATES or shown == STATES)
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


def for_several(env_id: str) -> str:
    return f"'{env_id}' is for several players: 'mosaic play' can, nothing here trains in it"


def advice(fits: Sequence[str]) -> str:
    return f"use {', '.join(fits)}" if fits else "no algorithm here fits it"


def _space(text: str, what: str) -> str:
    """`Box(-2.0, 2.0, (1,), float32)` says it all; `continuous` needs a noun."""
    return text if "(" in text else f"{text} {what}"
