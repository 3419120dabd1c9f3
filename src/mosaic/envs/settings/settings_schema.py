"""The settings of an environment as a JSON Schema, made from its constructor, its registration and `known_bounds`.

    {"type": "object", "additionalProperties": false, "properties": {"is_slippery": {"type": "boolean", "default": true,
     "description": …}, …}}

`additionalProperties` is true where the constructor hands `**kwargs` on to something that cannot be followed. Infinite
numbers, which JSON has none of, are written "inf" and "-inf". `required` has those arguments of a user's constructor
that have no default.
"""

import importlib
import math
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, cast, get_args, get_origin

from mosaic.envs import other
from mosaic.envs.families import family_of, find_spec
from mosaic.envs.own import own_family
from mosaic.envs.own.own_family import OwnEntry
from mosaic.envs.settings import known_bounds
from mosaic.envs.settings.constructor import REQUIRED, Argument, arguments_of
from mosaic.spec.wrappers import SETTING

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

INFINITE = {"inf": math.inf, "-inf": -math.inf}
STEP_LIMIT = "max_episode_steps"
"""A setting of every Gymnasium environment: Gymnasium's `make` takes it, no constructor does."""
NOT_SETTINGS = ("render_mode", SETTING)
"""Arguments of any environment that a run decides otherwise."""
_ABOUT = ("description", "actions", "observations", "sees", "not_for_pictures")
"""What is said of a whole setting, not of one of the kinds of value that it takes."""
_PLAIN: dict[Any, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    NoneType: {"type": "null"},
}


def settings_schema(env_id: str) -> dict[str, Any]:
    """The settings of one environment, everything imported that it needs."""
    if family_of(env_id).listed is not None:
        return _of_several(env_id)
    family, spec = find_spec(env_id)
    is_ours = family not in (own_family.FAMILY, other.FAMILY)
    schema = schema_of(creator_of(spec), spec.kwargs, alone=family.known_settings(spec), is_listed=is_ours)
    schema["properties"].setdefault(
        STEP_LIMIT,
        {
            "description": "Steps after which an episode is cut off; none where no default stands.",
            "type": "integer",
            "minimum": 1,
            **({} if spec.max_episode_steps is None else {"default": spec.max_episode_steps}),
        },
    )
    schema["properties"][SETTING] = {"description": "Put around it, the innermost first.", "type": "array"}
    return schema


def creator_of(spec: "EnvSpec") -> Callable[..., Any]:
    from gymnasium.envs.registration import load_env_creator

    entry: Any = spec.entry_point if spec.entry_point is not None else spec.vector_entry_point
    if isinstance(entry, OwnEntry):
        return entry.creator
    return load_env_creator(entry) if isinstance(entry, str) else entry


def _of_several(env_id: str) -> dict[str, Any]:
    """PettingZoo's `env` and `parallel_env` are functions that hand all on to the class `raw_env` of their module."""
    from mosaic.envs import pettingzoo

    name = pettingzoo.registered_name(env_id)
    entry = pettingzoo.entry_of(name)
    module = importlib.import_module(entry.partition(":")[0]) if isinstance(entry, str) else None
    raw: Any = getattr(module, "raw_env", None)
    # The classes are all called raw_env, so what is known of one goes by the game.
    game = name.rpartition("/")[2].rpartition("-v")[0]
    return schema_of(raw, {}, known_as=game) if raw is not None else _object({}, is_open=True)


def schema_of(
    creator: Callable[..., Any],
    registered: Mapping[str, Any],
    *,
    known_as: str = "",
    alone: Mapping[str, Mapping[str, Any]] | None = None,
    is_listed: bool = True,
) -> dict[str, Any]:
    """Of one constructor; `registered` are the arguments that the id gives it.

    `known_as` is its name in the tables, `alone` what is known for this id. The tables say nothing of one that is not
    listed: a `size` of a user's means what the user's own code says.
    """
    named, is_open = arguments_of(creator)
    class_name = known_as or getattr(creator, "__name__", "")
    properties: dict[str, Any] = {}
    for name, argument in named.items():
        if name in (known_bounds.FIXED if is_listed else NOT_SETTINGS):
            continue
        default = registered.get(name, argument.default)
        known = {**(known_bounds.of(class_name, name) if is_listed else {}), **(alone or {}).get(name, {})}
        made = _property(argument, default, known)
        if made is not None:
            properties[name] = made
    found = _object(properties, is_open=is_open)
    if is_listed:
        return found
    needed = [name for name in properties if named[name].default is REQUIRED and name not in registered]
    return {**found, "required": needed} if needed else found


def _object(properties: dict[str, Any], *, is_open: bool) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": is_open, "properties": properties}


def _property(argument: Argument, default: Any, known: Mapping[str, Any]) -> dict[str, Any] | None:
    """None for an argument that no JSON can give."""
    kind = _kind_of_hint(argument.hint)
    if kind is None:
        kind = _kind_of_value(argument.default if argument.default is not REQUIRED else default)
    if kind is None:
        return None
    found = _with_known(kind, known)
    is_given, shown = as_json(default)
    if is_given:
        found["default"] = shown
        if shown is None and kind and not _takes_null(found):
            found = _or_null(found)
        if isinstance(shown, list) and any(item in INFINITE for item in cast("list[Any]", shown)):
            found["items"] = {"anyOf": [{"type": "number"}, {"enum": list(INFINITE)}]}
    return found


def _with_known(kind: dict[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Bounds belong to the number of `number or null`, the rest to the whole."""
    whole = {key: known[key] for key in _ABOUT if key in known}
    inner = {key: value for key, value in known.items() if key not in whole}
    if "anyOf" in inner or ("type" in inner and "anyOf" not in kind):
        return {**whole, **({} if "anyOf" in inner else kind), **inner}
    if "anyOf" in kind and inner:
        members = [one if one.get("type") == "null" else {**one, **inner} for one in kind["anyOf"]]
        return {**whole, "anyOf": members}
    return {**whole, **kind, **inner}


def _takes_null(found: Mapping[str, Any]) -> bool:
    return found.get("type") == "null" or any(_takes_null(one) for one in found.get("anyOf", ()))


def _or_null(found: dict[str, Any]) -> dict[str, Any]:
    outside = {key: found.pop(key) for key in ("default", *_ABOUT) if key in found}
    return {**outside, "anyOf": [found, {"type": "null"}]}


def _kind_of_hint(hint: Any) -> dict[str, Any] | None:
    """None for an annotation that says nothing about JSON."""
    origin, members = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if origin is Literal:
        return {"enum": list(members)} if None not in members else {"enum": [one for one in members if one is not None]}
    if origin in (Union, UnionType):
        kinds = [_kind_of_hint(member) for member in members]
        return None if None in kinds else {"anyOf": kinds}
    if origin in (tuple, list):
        inner = [_kind_of_hint(member) for member in members if member is not ...]
        if not inner or None in inner or any(one != inner[0] for one in inner):
            return {"type": "array"}
        fixed = origin is tuple and ... not in members
        return {"type": "array", "items": inner[0]} | (
            {"minItems": len(inner), "maxItems": len(inner)} if fixed else {}
        )
    return {"type": "object"} if origin is dict or hint is dict else None


def _kind_of_value(value: Any) -> dict[str, Any] | None:
    if type(value) in _PLAIN and value is not None:
        return dict(_PLAIN[type(value)])
    if isinstance(value, tuple | list):
        items = [_kind_of_value(item) for item in cast("tuple[Any, ...]", value)]
        if items and None not in items and all(item == items[0] for item in items):
            # A pair of numbers is a range or a place; of words there may be any number.
            fixed = isinstance(value, tuple) and items[0] != _PLAIN[str]
            size = {"minItems": len(items), "maxItems": len(items)} if fixed else {}
            return {"type": "array", "items": items[0], **size}
        return {"type": "array"}
    # None may stand for anything, and what has no default at all is not known better.
    return {} if value is None or value is REQUIRED else None


def as_json(value: Any) -> tuple[bool, Any]:
    """Whether JSON can say a value, and how."""
    if isinstance(value, float) and math.isinf(value):
        return True, "inf" if value > 0 else "-inf"
    if value is None or isinstance(value, bool | int | float | str):
        return True, value
    if isinstance(value, tuple | list):
        items = [as_json(item) for item in cast("tuple[Any, ...]", value)]
        return all(is_given for is_given, _ in items), [item for _, item in items]
    return False, None
