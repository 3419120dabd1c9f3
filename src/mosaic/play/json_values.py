"""Actions and observations as JSON and as digests: exact, so that an episode can be made again and compared."""

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import Space, spaces

from mosaic.config import JsonValue
from mosaic.errors import ActorFailed

DIGEST_BYTES = 8


def to_json(value: Any) -> JsonValue:
    """Any value of a Gymnasium space; float32 survives, because every one of them is a float64 too."""
    if isinstance(value, np.ndarray | np.generic):
        return to_json(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def action_from_json(data: Any, space: Space[Any]) -> Any:
    """The action that `to_json` was given, with its type; ActorFailed if it is none of the space."""
    try:
        action = _of(space, data)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise ActorFailed(f"{data!r:.200} is not an action of {space}: {error}") from error
    if not fits(action, space):
        raise ActorFailed(f"{data!r:.200} is not an action of {space}")
    return action


def fits(action: Any, space: Space[Any]) -> bool:
    """Within the space; a continuous action may lie outside its bounds, as policies' do, and is not clipped."""
    if isinstance(space, spaces.Box):
        array = np.asarray(action)
        return array.shape == space.shape and bool(np.isfinite(array).all())
    return bool(space.contains(action))


def _of(space: Space[Any], data: Any) -> Any:
    if isinstance(space, spaces.Discrete):
        if isinstance(data, bool) or int(data) != data:
            raise ValueError("a whole number is needed")
        return int(data)
    if isinstance(space, spaces.Dict):
        return {key: _of(inner, data[key]) for key, inner in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_of(inner, item) for inner, item in zip(space.spaces, data, strict=True))
    if isinstance(space, spaces.Text):
        return str(data)
    return np.array(data, dtype=space.dtype).reshape(space.shape or ())


def digest(value: Any) -> str:
    """A short name of an observation; equal for equal values of equal type, and only for those."""
    hasher = hashlib.blake2b(digest_size=DIGEST_BYTES)
    _feed(hasher, value)
    return hasher.hexdigest()


def _feed(hasher: Any, value: Any) -> None:
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            hasher.update(f"{{{key}".encode())
            _feed(hasher, value[key])
    elif isinstance(value, list | tuple):
        hasher.update(f"[{len(value)}".encode())
        for item in value:
            _feed(hasher, item)
    elif isinstance(value, str):
        hasher.update(b"s" + value.encode(errors="surrogatepass") + b"\0")
    else:
        array = np.ascontiguousarray(value)
        if array.dtype == object:
            hasher.update(repr(value).encode())
            return
        # An int and a numpy integer are the same observation.
        if array.dtype.kind in "iub" and array.ndim == 0:
            array = array.astype(np.int64)
        hasher.update(f"{array.dtype.str}{array.shape}".encode())
        hasher.update(array.tobytes())
