"""Whether two paths computed the same, up to what single precision allows; the answer names the first difference."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch

TOLERANCE = 1e-4
"""Of the length of a vector; products of matrices in another order differ by a hundredth of this."""
ROUNDING = 1.2e-7
"""Of a float32."""
SMALLEST = 1e-5
"""Results below this are taken for zero: a mean over rows of unit size is not more precise."""
SMALLEST_GRADIENT = 1e-6
"""A shorter gradient of a parameter is rounding: what is left of terms of unit size that cancel."""
SMALLEST_PART = 1e-6
"""Of the whole gradient: a single bias may be the sum of large numbers that cancel."""

Array = np.ndarray[Any, Any]


def output_difference(plain: Any, fast: Any, name: str, *, tolerance: float = TOLERANCE) -> str | None:
    """The first difference between what two calls returned: numbers, arrays, and any nest of these."""
    if isinstance(plain, Mapping) and isinstance(fast, Mapping):
        return _keyed_difference(cast("Mapping[str, Any]", plain), cast("Mapping[str, Any]", fast), name, tolerance)
    if isinstance(plain, (tuple, list)) and isinstance(fast, (tuple, list)):
        return _listed_difference(cast("Sequence[Any]", plain), cast("Sequence[Any]", fast), name, tolerance)
    if plain is None or fast is None:
        return None if plain is fast else name
    first, second = _array(plain), _array(fast)
    if first.shape != second.shape:
        return f"{name} has the shape {first.shape}, not {second.shape}"
    if first.dtype.kind != "f" and second.dtype.kind != "f":
        wrong = int(np.count_nonzero(first != second))
        return f"{name}: {wrong} of {first.size} are others" if wrong else None
    return vector_difference(first, second, name, floor=SMALLEST * np.sqrt(first.size), tolerance=tolerance)


def vector_difference(plain: Array, fast: Array, name: str, *, floor: float, tolerance: float) -> str | None:
    """`floor` is how long a difference may be whatever the vectors' length."""
    change, values = (plain - fast).reshape(-1), plain.reshape(-1)
    distance, length = math.sqrt(change.dot(change)), math.sqrt(values.dot(values))
    if not math.isfinite(distance + length):
        distance, length = _apart_from_equal_gaps(plain, fast)
    if distance <= tolerance * length + floor:
        return None
    if length <= 0:
        return name
    percent = 100 * distance / length
    return f"{name} by {percent:.0f} %" if percent >= 10 else f"{name} by {percent:.2g} %"


def _apart_from_equal_gaps(plain: Array, fast: Array) -> tuple[float, float]:
    """Distance and length without the places where both are not a number, or equally infinite."""
    equal = (np.isnan(plain) & np.isnan(fast)) | (plain == fast)
    length = float(np.linalg.norm(np.nan_to_num(plain)))
    return (math.inf if not np.isfinite(fast[~equal]).all() else float(np.linalg.norm((plain - fast)[~equal]))), length


def gradient_difference(
    plain: Mapping[str, Array],
    fast: Mapping[str, Array],
    name: str,
    *,
    tolerance: float = TOLERANCE,
    smallest: float = SMALLEST_GRADIENT,
) -> str | None:
    """The first parameter whose gradient differs."""
    whole = math.sqrt(sum(float(part.reshape(-1).dot(part.reshape(-1))) for part in plain.values()))
    for parameter, gradient in plain.items():
        floor = SMALLEST_PART * whole + smallest
        found = vector_difference(gradient, fast[parameter], f"{name} of {parameter}", floor=floor, tolerance=tolerance)
        if found:
            return found
    return None


def step_difference(before: Array, plain: Array, fast: Array, name: str, *, tolerance: float = TOLERANCE) -> str | None:
    """Whether parameters moved alike: the difference is small beside the way that they went."""
    start = before.reshape(-1)
    floor = 2 * ROUNDING * math.sqrt(start.dot(start))
    return vector_difference(plain - before, fast - before, name, floor=floor, tolerance=tolerance)


def equal(one: Any, other: Any) -> bool:
    """Whether two states are the same to the last bit."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        first, second = cast("Mapping[str, Any]", one), cast("Mapping[str, Any]", other)
        return first.keys() == second.keys() and all(equal(first[key], second[key]) for key in first)
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        parts = cast("Sequence[Any]", one), cast("Sequence[Any]", other)
        return len(parts[0]) == len(parts[1]) and all(equal(*pair) for pair in zip(*parts, strict=True))
    first, second = _array(one), _array(other)
    if first.dtype.kind not in "fiub":
        return type(one) is type(other)
    return bool(np.array_equal(first, second, equal_nan=first.dtype.kind == "f"))


def relative_change(one: Any, other: Any, *, floor: float = 0.0) -> float:
    """The largest change between two results of the same shape: of an array, beside the length of the shorter.

    A change below `floor` for each number is none.
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        first, second = cast("Mapping[str, Any]", one), cast("Mapping[str, Any]", other)
        return max((relative_change(first[key], second[key], floor=floor) for key in first), default=0.0)
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        pairs = zip(cast("Sequence[Any]", one), cast("Sequence[Any]", other), strict=True)
        return max((relative_change(*pair, floor=floor) for pair in pairs), default=0.0)
    if one is None or other is None or _array(one).dtype.kind != "f":
        return 0.0
    first, second = _array(one), _array(other)
    change, *lengths = (float(np.linalg.norm(part)) for part in (first - second, first, second))
    if change <= floor * math.sqrt(first.size):
        return 0.0
    return change / min(lengths) if min(lengths) > 0 else math.inf


def _keyed_difference(plain: Mapping[str, Any], fast: Mapping[str, Any], name: str, tolerance: float) -> str | None:
    if plain.keys() != fast.keys():
        return f"{name} {', '.join(sorted(plain.keys() ^ fast.keys()))}"
    for key in plain:
        if found := output_difference(plain[key], fast[key], f"{name} {key}", tolerance=tolerance):
            return found
    return None


def _listed_difference(plain: Sequence[Any], fast: Sequence[Any], name: str, tolerance: float) -> str | None:
    if len(plain) != len(fast):
        return f"{name}: {len(plain)} values, not {len(fast)}"
    names: Sequence[Any] = getattr(plain, "_fields", range(len(plain)))
    for key, one, other in zip(names, plain, fast, strict=True):
        if found := output_difference(one, other, f"{name} {key}", tolerance=tolerance):
            return found
    return None


def _array(value: Any) -> Array:
    return value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
