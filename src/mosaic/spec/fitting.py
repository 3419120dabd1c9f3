"""Whether an algorithm can learn in an environment, in the same words wherever that is asked."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mosaic.spec.known_environments import Found

PIXELS = "pixels"


def misfit(algo: str, environment: Found, algorithms: Iterable[Mapping[str, Any]]) -> str:
    """Why this algorithm cannot learn there, and which can; empty if nothing is known that speaks against it.

    Algorithms have `name`, `actions` and `observations`, as in a catalogue.
    """
    known = {one["name"]: one for one in algorithms}
    if algo not in known or not environment.actions:
        return ""
    wanted = known[algo]["actions"]
    if wanted and wanted != environment.actions:
        fits = fitting(known.values(), environment.actions, environment.observations)
        return wrong_actions(algo, wanted, environment.env_id, environment.action_space or environment.actions, fits)
    if known[algo]["observations"] == PIXELS and environment.observations not in ("", PIXELS):
        fits = fitting(known.values(), environment.actions, environment.observations)
        return no_pictures(algo, environment.env_id, environment.observation_space or environment.observations, fits)
    return ""


def fitting(algorithms: Iterable[Mapping[str, Any]], actions: str, shown: str) -> list[str]:
    """Names of those that can learn there: on pictures those with convolutions, if there are any for these actions."""
    able = [one for one in algorithms if one["actions"] == actions]
    seen = [one for one in able if (one["observations"] == PIXELS) == (shown == PIXELS)]
    return sorted(one["name"] for one in seen or [one for one in able if one["observations"] != PIXELS])


def wrong_actions(algo: str, wanted: str, env_id: str, has: str, fits: Sequence[str]) -> str:
    """`has` is an action space as Gymnasium writes it, or a kind of actions."""
    return f"{algo} needs {wanted} actions, {env_id} has {_space(has, 'actions')}: {advice(fits)}"


def no_pictures(algo: str, env_id: str, shows: str, fits: Sequence[str]) -> str:
    return f"{algo} needs pictures, {env_id} shows {_space(shows, 'observations')}: {advice(fits)}"


def for_several(env_id: str) -> str:
    return f"'{env_id}' is for several players: 'mosaic play' can, nothing here trains in it"


def advice(fits: Sequence[str]) -> str:
    return f"use {', '.join(fits)}" if fits else "no algorithm here fits it"


def _space(text: str, what: str) -> str:
    """`Box(-2.0, 2.0, (1,), float32)` says it all; `continuous` needs a noun."""
    return text if "(" in text else f"{text} {what}"
