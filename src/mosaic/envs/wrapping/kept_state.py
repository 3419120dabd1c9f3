"""What wrappers keep over episodes (running means, queues, counters), as plain values: taken before a reset, put back.

A normaliser that was put back and then lives the same episode again is where it was. A state is a tree of JSON values
and numpy arrays, with {"kind": …} for what is neither:

    {"kind": "tuple" | "list" | "deque" | "set", "items": [...]}    {"kind": "dict", "items": [[key, value], …]}
    {"kind": "scalar", "value": array of no dimension}              {"kind": "generator", "state": its bit generator's}
    {"kind": "object", "fields": {name: …}}                         {"kind": "same"}  (as its constructor made it)

Objects are put back in place, field by field, so that no class is named and no code runs. What cannot be told so (an
open file, an iterator) is "unknown": a resume then is not exact, and the run says so.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.wrappers import NormalizeObservation, OrderEnforcing, PassiveEnvChecker, TimeLimit

AnyEnv = gymnasium.Env[Any, Any]
_EMPTIED_BY_RESET = (PassiveEnvChecker, OrderEnforcing, TimeLimit)
_SKIPPED = frozenset({"env", "_cached_spec", "_saved_kwargs"})
_DEEPEST = 8
_UNKNOWN = {"kind": "unknown"}
_SAME = {"kind": "same"}


def layers(env: AnyEnv) -> list[AnyEnv]:
    """Wrappers that may keep something over a reset; ours keep nothing that a replay does not bring back."""
    found: list[AnyEnv] = []
    inner: Any = env
    while isinstance(inner, gymnasium.Wrapper):
        layer = cast("gymnasium.Wrapper[Any, Any, Any, Any]", inner)
        if not isinstance(layer, _EMPTIED_BY_RESET) and not type(layer).__module__.startswith("mosaic."):
            found.append(layer)
        inner = layer.env
    return found


def capture(kept: list[AnyEnv]) -> list[dict[str, Any]]:
    return [{name: _told(value, 0) for name, value in _fields(layer)} for layer in kept]


def restore(kept: list[AnyEnv], states: list[dict[str, Any]]) -> bool:
    """Put it back; False if some of it is unknown, or belongs to other wrappers."""
    if len(kept) != len(states):
        return False
    # All of them, also where one is not whole.
    whole = [_put_back(layer, state) for layer, state in zip(kept, states, strict=True)]
    return all(whole)


def normalisers(env: AnyEnv) -> list[dict[str, Any]]:
    """The moments of those that normalise observations, the innermost first, as JSON."""
    found: list[dict[str, Any]] = []
    for layer in reversed(layers(env)):
        if isinstance(layer, NormalizeObservation):
            moments: Any = layer.obs_rms
            found.append({"mean": moments.mean.tolist(), "var": moments.var.tolist(), "count": float(moments.count)})
    return found


def set_normaliser(layer: Any, moments: Mapping[str, Any]) -> None:
    """Normalise by these moments from now on, and learn no others."""
    own = layer.obs_rms
    for name in ("mean", "var"):
        setattr(own, name, np.asarray(moments[name], dtype=getattr(own, name).dtype))
    own.count = moments["count"]
    layer.update_running_mean = False


def _fields(thing: Any) -> Iterator[tuple[str, Any]]:
    for name, value in cast("dict[str, Any]", vars(thing)).items():
        if name not in _SKIPPED:
            yield name, value


def _put_back(thing: Any, state: Mapping[str, Any]) -> bool:
    is_whole = True
    for name, told in state.items():
        match _kind(told):
            case "object":
                inner = getattr(thing, name, None)
                is_whole = inner is not None and _put_back(inner, told["fields"]) and is_whole
            case "unknown":
                is_whole = False
            case "same":
                continue
            case _:
                is_whole = _set(thing, name, told) and is_whole
    return is_whole


def _kind(told: Any) -> str:
    return cast("dict[str, Any]", told)["kind"] if isinstance(told, dict) else ""


def _set(thing: Any, name: str, told: Any) -> bool:
    now = getattr(thing, name, None)
    try:
        if isinstance(now, np.random.Generator):
            now.bit_generator.state = told["state"]
            return True
        value = _value(told, now)
    except _Unknown:
        return False
    if now is not None and _is_alike(now, value):
        # Others may hold the same array.
        np.copyto(now, value)
    else:
        setattr(thing, name, value)
    return True


def _is_alike(now: Any, value: Any) -> bool:
    if not isinstance(now, np.ndarray) or not isinstance(value, np.ndarray):
        return False
    one, other = cast("np.ndarray[Any, Any]", now), cast("np.ndarray[Any, Any]", value)
    return one.shape == other.shape and one.dtype == other.dtype and bool(one.flags.writeable)


class _Unknown(Exception):
    """Part of a value is not known."""


def _told(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[Any, Any]", value)
        return _UNKNOWN if array.dtype.hasobject else array.copy()
    if isinstance(value, np.generic):
        return {"kind": "scalar", "value": np.asarray(cast("Any", value))}
    if isinstance(value, np.random.Generator):
        return {"kind": "generator", "state": value.bit_generator.state}
    if depth > _DEEPEST:
        return _UNKNOWN
    if isinstance(value, tuple | list | deque | set | frozenset):
        kind = "set" if isinstance(value, set | frozenset) else type(cast("object", value)).__name__
        if kind not in ("tuple", "list", "deque", "set"):
            return _UNKNOWN
        items = [_told(item, depth + 1) for item in cast("list[Any]", value)]
        return _SAME if items and all(_kind(item) == "same" for item in items) else {"kind": kind, "items": items}
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        return {"kind": "dict", "items": [[_told(key, depth + 1), _told(item, depth + 1)] for key, item in pairs]}
    if isinstance(value, gymnasium.Space | gymnasium.Env | type | ModuleType) or callable(value):
        return _SAME
    if hasattr(value, "__dict__"):
        return {"kind": "object", "fields": {name: _told(item, depth + 1) for name, item in _fields(value)}}
    return _UNKNOWN


def _value(told: Any, now: Any = None) -> Any:
    if isinstance(told, np.ndarray):
        return cast("np.ndarray[Any, Any]", told).copy()
    if not isinstance(told, dict):
        return told
    about = cast("dict[str, Any]", told)
    match about["kind"]:
        case "scalar":
            return about["value"][()]
        case "list":
            return [_value(item) for item in about["items"]]
        case "tuple":
            return tuple(_value(item) for item in about["items"])
        case "set":
            return {_value(item) for item in about["items"]}
        case "deque":
            longest = cast("deque[Any]", now).maxlen if isinstance(now, deque) else None
            return deque((_value(item) for item in about["items"]), maxlen=longest)
        case "dict":
            return {_value(key): _value(item) for key, item in about["items"]}
        case _:
            # An object or a generator inside a list has no place of its own to be put back to.
            raise _Unknown
