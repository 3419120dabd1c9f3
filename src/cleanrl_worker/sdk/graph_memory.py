"""What a recorded step reads and writes: Python numbers, which a CUDA graph holds, and tensors, which it changes."""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import is_dataclass
from typing import Any, cast

import torch
from torch import nn

DEEPEST = 4
LIBRARIES = frozenset({"builtins", "gymnasium", "mosaic", "numpy", "structlog", "torch"})
TOLERANCE = 1e-4
"""Of the length of a tensor's change; a graph and the calls it was recorded from are equal to the last bit."""


class Numbers:
    """The numbers that a method may read: of its object, of the networks and settings there, and of its module."""

    def __init__(self, step: Callable[..., Any]) -> None:
        self._places = list(_places_of(step))
        self._values = self._now()

    def changed(self) -> str | None:
        """The name of a number that is another one than before, or None."""
        values = self._now()
        if values == self._values:
            return None
        pairs = zip(self._places, self._values, values, strict=True)
        return next((name for (_, _, name), old, new in pairs if old != new), None)

    def _now(self) -> list[Any]:
        return [holder.get(key) for holder, key, _ in self._places]


class Memory:
    """The tensors that a step may change: all that its object or its closure holds, but for inputs and graphs."""

    def __init__(self, step: Callable[..., Any], *, without: tuple[type, ...]) -> None:
        self._tensors: dict[str, torch.Tensor] = {}
        self._parameters: dict[int, nn.Parameter] = {}
        self._without = without
        self._seen: dict[int, Any] = {}
        owner: Any = getattr(step, "__self__", None)
        if owner is not None:
            self._gather(vars(owner), "learner", 0)
        for cell in getattr(step, "__closure__", None) or ():
            self._gather([cell.cell_contents], "closure", 0)
        self._gradients = [parameter.grad for parameter in self._parameters.values()]

    def _gather(self, value: Any, path: str, depth: int) -> None:
        if id(value) in self._seen or depth > DEEPEST or isinstance(value, self._without):
            return
        # Kept, so that its identity is not given to another.
        self._seen[id(value)] = value
        if isinstance(value, torch.Tensor):
            self._tensors[path] = value.data
            if isinstance(value, nn.Parameter):
                self._parameters[id(value)] = value
        elif isinstance(value, nn.Module):
            for name, part in value.state_dict(keep_vars=True).items():
                self._gather(part, f"{path}.{name}", depth)
        elif isinstance(value, torch.optim.Optimizer):
            for place, state in enumerate(value.state.values()):
                for name, part in state.items():
                    self._gather(part, f"{path}.{place}.{name}", depth)
        elif isinstance(value, Mapping):
            for name, part in cast("Mapping[Any, Any]", value).items():
                self._gather(part, f"{path}.{name}", depth + 1)
        elif isinstance(value, (list, tuple)):
            for place, part in enumerate(cast("list[Any]", value)):
                self._gather(part, f"{path}.{place}", depth + 1)
        elif hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
            self._gather(vars(value), path, depth + 1)

    def copy(self) -> dict[str, torch.Tensor]:
        return {name: tensor.clone() for name, tensor in self._tensors.items()}

    def put(self, copy: Mapping[str, torch.Tensor]) -> None:
        for name, tensor in self._tensors.items():
            tensor.copy_(copy[name])

    def put_gradients_back(self) -> None:
        """A graph writes gradients where it was recorded; a plain call makes new ones."""
        for parameter, gradient in zip(self._parameters.values(), self._gradients, strict=True):
            parameter.grad = gradient


def first_difference(
    plain: Mapping[str, torch.Tensor], replayed: Mapping[str, torch.Tensor], before: Mapping[str, torch.Tensor]
) -> str | None:
    """What two calls from the same state did not do alike."""
    for name, tensor in plain.items():
        start = before.get(name, torch.zeros_like(tensor))
        other = replayed[name]
        if torch.allclose(tensor.double(), other.double(), rtol=0, atol=0, equal_nan=True):
            continue
        distance = (tensor.double() - other.double()).norm().item()
        way = (tensor.double() - start.double()).norm().item()
        if not distance <= TOLERANCE * way + 1e-6 * tensor.double().norm().item() + 1e-12:
            return f"{name} differs from that of a plain call by {distance:.1e}, where it goes {way:.1e}"
    return None


Place = tuple[MutableMapping[str, Any], str, str]


def _places_of(step: Callable[..., Any]) -> Iterator[Place]:
    seen: dict[int, Any] = {}
    owner: Any = getattr(step, "__self__", None)
    if owner is not None:
        yield from _numbers_in(vars(owner), "the learner", seen, 0)
    function: Any = getattr(step, "__func__", step)
    function = getattr(function, "__wrapped__", function)
    yield from _numbers_in(function.__globals__, function.__module__, seen, DEEPEST - 2)


def _numbers_in(holder: MutableMapping[str, Any], path: str, seen: dict[int, Any], depth: int) -> Iterator[Place]:
    if id(holder) in seen or depth == DEEPEST:
        return
    # Kept, so that its identity is not given to another.
    seen[id(holder)] = holder
    for key, value in list(holder.items()):
        if key.startswith("__"):
            continue
        if isinstance(value, (bool, int, float)):
            yield holder, key, f"{key} of {path}"
        elif isinstance(value, dict):
            yield from _numbers_in(cast("dict[str, Any]", value), f"{key} of {path}", seen, depth + 1)
        elif _may_hold_numbers(value):
            yield from _numbers_in(vars(value), key, seen, depth + 1)
            if isinstance(value, nn.Module):
                yield from _numbers_in(dict(value.named_children()), key, seen, depth + 1)


def _may_hold_numbers(value: Any) -> bool:
    """Left out: settings that cannot change, functions, classes, and what libraries and this package keep."""
    kind = type(value)
    if isinstance(value, type) or not hasattr(value, "__dict__"):
        return False
    frozen = is_dataclass(value) and cast(Any, kind).__dataclass_params__.frozen
    of_a_library = kind.__module__.partition(".")[0] in LIBRARIES or kind.__module__.startswith("cleanrl_worker.sdk")
    is_code = callable(value) and not isinstance(value, nn.Module)
    return not (frozen or of_a_library or is_code)
