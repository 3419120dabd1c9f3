"""Settings of an environment, checked by the JSON Schema that the catalogue has of them; nothing is imported for that.

A run config keeps them under `environment.settings`: the arguments of the environment's constructor that were given,
and no others. What is refused is told in the words of a command line: `--env.is_slippery`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from mosaic.errors import Problem
from mosaic.near_names import did_you_mean
from mosaic.spec import setting_values, wrappers
from mosaic.spec.setting_values import shown

Settings = Mapping[str, Any]
Schema = Mapping[str, Any]

PREFIX = "--env."


def flag_of(name: str) -> str:
    return PREFIX + name


def problems_of(settings: Settings, schema: Schema, *, env_id: str) -> list[Problem]:
    """Everything that is wrong with the settings of one environment."""
    known: Mapping[str, Any] = schema["properties"]
    problems: list[Problem] = []
    for name, value in settings.items():
        if name == wrappers.SETTING:
            problems += _of_wrappers(value, known.get(name), env_id=env_id)
        elif name in known:
            problems += [Problem(flag_of(name), wrong) for wrong in _wrong(value, known[name])]
        elif not schema.get("additionalProperties", True):
            problems.append(Problem(flag_of(name), unknown(name, known, env_id=env_id)))
    return problems


def missing(settings: Settings, schema: Schema, *, env_id: str) -> list[Problem]:
    """Arguments of a user's constructor that have no default and are not among all the settings."""
    needed = [name for name in schema.get("required", ()) if name not in settings]
    return [Problem(flag_of(name), f"is missing; {env_id} cannot be made without it") for name in needed]


def _of_wrappers(given: Any, kind: Mapping[str, Any] | None, *, env_id: str) -> Iterator[Problem]:
    if kind is None:
        if given:
            yield Problem(wrappers.FLAG, f"{env_id} is for several players, and Gymnasium's wrappers are for one")
        return
    yield from wrappers.problems_of(given, kind.get("known", {}))


def not_for_scripts() -> Problem:
    return Problem("--env.NAME", "a script makes its environments itself; give it flags of its own behind '--'")


def unknown(name: str, known: Mapping[str, Any], *, env_id: str) -> str:
    """What to say of a name that is not a setting."""
    named = [one for one in known if one != wrappers.SETTING]
    advice = did_you_mean(name, known, most=2)
    if not named:
        return f"{env_id} has no settings"
    return f"is not a setting of {env_id}; {advice or 'it has ' + ', '.join(named)}"


def _wrong(value: Any, kind: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a value, in one sentence; nothing where it fits."""
    if not setting_values.fits(value, kind):
        yield f"must be {setting_values.wanted(kind)} (got {shown(value)})"


def flags_of(settings: Settings) -> list[str]:
    """The words of a command line that mean these settings."""
    named = [f"{flag_of(name)}={shown(value)}" for name, value in settings.items() if name != wrappers.SETTING]
    return [*named, *(f"{wrappers.FLAG}={text}" for text in wrappers.words_of(settings))]


def as_hyperparameters(settings: Settings) -> dict[str, Any]:
    """By the names that trackers and TensorBoard show."""
    told = {name: value for name, value in settings.items() if name != wrappers.SETTING}
    if wrapped := wrappers.words_of(settings):
        told[wrappers.SETTING] = " ".join(wrapped)
    return {f"env.{name}": value for name, value in told.items()}


def spoken(settings: Settings) -> str:
    """`is_slippery=false, map_name=8x8`; empty where there are none."""
    return ", ".join(
        wrappers.spoken(value, flag=True) if name == wrappers.SETTING else f"{name}={shown(value)}"
        for name, value in settings.items()
    )
