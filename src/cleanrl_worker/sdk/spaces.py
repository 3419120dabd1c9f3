"""Gymnasium spaces as JSON, for policy files and error messages."""

from typing import Any, cast

import gymnasium as gym
import numpy as np

from mosaic.errors import PolicyError


def to_json(space: gym.Space[Any]) -> dict[str, Any]:
    if isinstance(space, gym.spaces.Discrete):
        return {"type": "Discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, gym.spaces.Box):
        box = cast(Any, space)
        return {
            "type": "Box",
            "shape": list(box.shape),
            "dtype": str(box.dtype),
            "low": _bounds(box.low),
            "high": _bounds(box.high),
        }
    raise PolicyError(f"space {space} cannot be stored in a policy file; only Box and Discrete can")


def from_json(data: dict[str, Any]) -> gym.Space[Any]:
    match data:
        case {"type": "Discrete", "n": n, "start": start}:
            return gym.spaces.Discrete(n, start=start)
        case {"type": "Box", "shape": shape, "dtype": dtype, "low": low, "high": high}:
            kind = np.dtype(dtype)
            bounds = [np.broadcast_to(np.array(b, dtype=float), shape).astype(kind) for b in (low, high)]
            return gym.spaces.Box(bounds[0], bounds[1], dtype=kind.type)
        case _:
            raise PolicyError(f"the policy file describes a space that is not known: {data}")


def _bounds(values: np.ndarray[Any, Any]) -> Any:
    """One number where all are equal, else the nested list; infinities as strings, which float() reads back."""
    flat = values.astype(float)
    if flat.size and (flat == flat.flat[0]).all():
        return _json_float(float(flat.flat[0]))
    return _nested(flat.tolist())


def _nested(value: Any) -> Any:
    return [_nested(item) for item in cast("list[Any]", value)] if isinstance(value, list) else _json_float(value)


def _json_float(value: float) -> float | str:
    return value if np.isfinite(value) else str(value)
