"""Arguments of the environment's wrappers in a space: `wrap.FrameStackObservation.stack_size=1,2,4`.

The wrapper itself stands in the run config, as `--wrap FrameStackObservation:4` puts it there; a sweep changes what it
is given.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from mosaic.near_names import no_such

PREFIX = "wrap."
"""What the name of such a setting begins with."""
SETTING = "wrappers"
"""Of the environment's settings: a list of objects with `name` and `arguments`."""


def parts(name: str) -> tuple[str, str]:
    """Wrapper and argument; a wrapper of a file has a dot of its own."""
    wrapper, _, argument = name.removeprefix(PREFIX).rpartition(".")
    return wrapper, argument


def put(document: dict[str, Any], name: str, value: Any) -> None:
    """Into a run config, which `problems_of` has found to have this wrapper."""
    wrapper, argument = parts(name)
    for one in _wrappers(document):
        if one["name"] == wrapper:
            one.setdefault("arguments", {})[argument] = value


def given(document: Mapping[str, Any]) -> dict[str, Any]:
    """Every argument that a run config names, by its name in a space."""
    return {
        f"{PREFIX}{one['name']}.{argument}": value
        for one in _wrappers(document)
        for argument, value in one.get("arguments", {}).items()
    }


def field_of(name: str, env_schema: Mapping[str, Any] | None) -> tuple[Mapping[str, Any] | None, str]:
    """The schema of an argument, empty where only a worker knows it; where there is none, why."""
    wrapper, argument = parts(name)
    if not wrapper or not argument:
        return None, f"{name} is not {PREFIX}WRAPPER.ARGUMENT, as in wrap.TimeLimit.max_episode_steps"
    known: Mapping[str, Any] = {} if env_schema is None else env_schema["properties"].get(SETTING, {}).get("known", {})
    if wrapper not in known:
        return {}, ""
    arguments: Mapping[str, Any] = known[wrapper].get("properties", {})
    if argument in arguments:
        return arguments[argument], ""
    return None, f"{name}: {wrapper} has no argument {argument}; {no_such(argument, arguments)}"


def problems_of(document: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    """A wrapper that the run does not have, or has twice."""
    there = [one["name"] for one in _wrappers(document)]
    for name in names:
        if name.startswith(PREFIX) and there.count(parts(name)[0]) != 1:
            wrapper = parts(name)[0]
            why = "is there twice" if wrapper in there else f"is not a wrapper of these runs; add --wrap {wrapper}"
            yield f"{name}: {wrapper} {why}"


def _wrappers(document: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    environment = document.get("environment")
    settings: Any = cast("dict[str, Any]", environment).get("settings") if isinstance(environment, dict) else None
    found = cast("dict[str, Any]", settings).get(SETTING) if isinstance(settings, dict) else None
    return cast("list[dict[str, Any]]", found) if isinstance(found, list) else []
