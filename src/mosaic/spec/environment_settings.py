"""Settings of an environment, checked by the JSON Schema that the catalogue has of them; nothing is imported for that.

A run config keeps them under `environment.settings`: the arguments of the environment's constructor that were given,
and no others. What is refused is told in the words of a command line: `--env.is_slippery`.
"""

import json
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from mosaic.errors import Problem
from mosaic.near_names import did_you_mean

Settings = Mapping[str, Any]
Schema = Mapping[str, Any]

PREFIX = "--env."
_TYPES: dict[str, tuple[type[Any], ...]] = {
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_NAMES = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "minimum": ("at least", operator.ge),
    "maximum": ("at most", operator.le),
    "exclusiveMinimum": ("greater than", operator.gt),
    "exclusiveMaximum": ("less than", operator.lt),
}


def flag_of(name: str) -> str:
    return PREFIX + name


def problems_of(settings: Settings, schema: Schema, *, env_id: str) -> list[Problem]:
    """Everything that is wrong with the settings of one environment."""
    known: Mapping[str, Any] = schema["properties"]
    problems: list[Problem] = []
    for name, value in settings.items():
        if name in known:
            problems += [Problem(flag_of(name), wrong) for wrong in _wrong(value, known[name])]
        elif not schema.get("additionalProperties", True):
            problems.append(Problem(flag_of(name), unknown(name, known, env_id=env_id)))
    return problems


def not_for_scripts() -> Problem:
    return Problem("--env.NAME", "a script makes its environments itself; give it flags of its own behind '--'")


def unknown(name: str, known: Mapping[str, Any], *, env_id: str) -> str:
    """What to say of a name that is no setting."""
    advice = did_you_mean(name, known, most=2)
    if not known:
        return f"{env_id} has no settings"
    return f"is not a setting of {env_id}; {advice or 'it has ' + ', '.join(known)}"


def kinds_with(settings: Settings, schema: Schema, kinds: Mapping[str, str]) -> dict[str, str]:
    """What an environment is like with these settings; what they change in an unknown way is left empty.

    `kinds` has `actions`, `action_space`, `observations` and `observation_space` of the environment without settings.
    """
    found = dict(kinds)
    for name, value in settings.items():
        about = schema["properties"].get(name, {})
        if "actions" in about:
            actions = about["actions"].get(json.dumps(value), "")
            if actions != found["actions"]:
                found |= {"actions": actions, "action_space": ""}
        if "sees" in about or name not in schema["properties"]:
            found |= {"observations": "", "observation_space": ""}
    return found


def _wrong(value: Any, kind: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a value, in one sentence; nothing where it fits."""
    if not _fits(value, kind):
        yield f"must be {wanted(kind)} (got {shown(value)})"


def _fits(value: Any, kind: Mapping[str, Any]) -> bool:
    if "anyOf" in kind:
        return any(_fits(value, one) for one in kind["anyOf"])
    if "enum" in kind:
        return any(value == one and type(value) is type(one) for one in kind["enum"])
    if "type" not in kind:
        return True
    # In Python, true is a number.
    is_kind = isinstance(value, _TYPES[kind["type"]]) and (isinstance(value, bool) == (kind["type"] == "boolean"))
    if not is_kind or (isinstance(value, float) and not math.isfinite(value)):
        return False
    if not all(_BOUNDS[bound][1](value, kind[bound]) for bound in _BOUNDS if bound in kind):
        return False
    if isinstance(value, list):
        items = cast("list[Any]", value)
        fitting = all(_fits(item, kind.get("items", {})) for item in items)
        return fitting and kind.get("minItems", 0) <= len(items) <= kind.get("maxItems", len(items))
    return True


def wanted(kind: Mapping[str, Any]) -> str:
    """The values that fit, in words: `a number, at least 0 and at most 1`."""
    if "anyOf" in kind:
        return " or ".join(wanted(one) for one in kind["anyOf"])
    if "enum" in kind:
        return "one of " + ", ".join(map(str, kind["enum"])) if len(kind["enum"]) > 1 else str(kind["enum"][0])
    if "type" not in kind:
        return "any value"
    bounds = " and ".join(f"{word} {kind[bound]}" for bound, (word, _) in _BOUNDS.items() if bound in kind)
    whole = f"{_NAMES[kind['type']]}, {bounds}" if bounds else _NAMES[kind["type"]]
    if kind["type"] == "array":
        size = f" of {kind['minItems']}" if "minItems" in kind and kind["minItems"] == kind.get("maxItems") else ""
        whole += size + (f", each {wanted(kind['items'])}" if kind.get("items") else "")
    return whole


def read_word(word: str | None, kind: Mapping[str, Any]) -> Any:
    """The value that a word of a command line means; a word that means none stays a text, which is refused later.

    `None` is a flag without a value, which switches on what can be switched.
    """
    kinds = [*_members(kind)]
    if word is None:
        return True if any(one.get("type") == "boolean" for one in kinds) or not kinds else ""
    if any(word == one for member in kinds for one in member.get("enum", ())):
        return word
    types = {one.get("type") for one in kinds}
    if "boolean" in types and word.lower() in ("true", "false", "yes", "no"):
        return word.lower() in ("true", "yes")
    if "null" in types and word.lower() in ("none", "null"):
        return None
    found = _read_json(word)
    is_other = any(_fits(found, one) for one in kinds if one.get("type") != "string")
    return word if "string" in types and not is_other else found


def _members(kind: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "anyOf" in kind:
        for one in kind["anyOf"]:
            yield from _members(one)
    elif kind:
        yield kind


def _read_json(word: str) -> Any:
    try:
        return json.loads(word.lower() if word in ("True", "False") else word)
    except ValueError:
        return word


def shown(value: Any) -> str:
    """A value as a user types it."""
    return value if isinstance(value, str) else json.dumps(value)


def spoken(settings: Settings) -> str:
    """`is_slippery=false, map_name=8x8`; empty where there are none."""
    return ", ".join(f"{name}={shown(value)}" for name, value in settings.items())
