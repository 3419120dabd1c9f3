"""Values of settings and of arguments, by the JSON Schema of each: what fits, in words, and what a typed word means.

An array that is `ascending`, which no JSON Schema says, has each item larger than the one before it.
"""

import json
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, cast

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


def fits(value: Any, kind: Mapping[str, Any]) -> bool:
    if "anyOf" in kind:
        return any(fits(value, one) for one in kind["anyOf"])
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
        fitting = all(fits(item, kind.get("items", {})) for item in items)
        in_order = not kind.get("ascending") or all(one < next_one for one, next_one in pairwise(items))
        return fitting and kind.get("minItems", 0) <= len(items) <= kind.get("maxItems", len(items)) and in_order
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
        whole += " and larger than the one before it" if kind.get("ascending") else ""
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
    is_other = any(fits(found, one) for one in kinds if one.get("type") != "string")
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
