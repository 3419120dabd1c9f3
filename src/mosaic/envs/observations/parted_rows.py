"""A flat vector that knows its parts: the space of a row that is made of a picture, a vector, an action mask."""

from collections.abc import Mapping
from typing import Any, Literal, cast

import numpy as np
from gymnasium import spaces

MASK = "action_mask"
"""The part that says which actions are allowed: 1 or 0 for each choice."""
WHOLE = "vector"
"""The part of an observation that was made one vector."""

AnyBox = spaces.Box[Any]


class PartedRows(AnyBox):
    """Rows of float32: the parts one behind the other, each flattened in C order, and the action mask last.

    To what only asks for its shape it is a vector like others. `parts` has the shape and the bounds of each.
    """

    def __init__(self, parts: Mapping[str, AnyBox]) -> None:
        ordered = [name for name in parts if name != MASK] + [name for name in parts if name == MASK]
        self.parts: dict[str, AnyBox] = {name: parts[name] for name in ordered}
        low, high = (
            np.concatenate([np.asarray(getattr(box, side), np.float32).ravel() for box in self.parts.values()])
            for side in ("low", "high")
        )
        super().__init__(low, high, dtype=np.float32)

    @property
    def slices(self) -> dict[str, slice]:
        """Where each part lies in a row."""
        found: dict[str, slice] = {}
        start = 0
        for name, box in self.parts.items():
            found[name] = slice(start, start + int(np.prod(box.shape)))
            start = found[name].stop
        return found

    @property
    def choices(self) -> int:
        """How many choices the action mask tells of; 0 without one."""
        return int(np.prod(self.parts[MASK].shape)) if MASK in self.parts else 0

    @property
    def observed(self) -> dict[str, AnyBox]:
        """The parts without the action mask."""
        return {name: box for name, box in self.parts.items() if name != MASK}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartedRows) and list(self.parts.items()) == list(other.parts.items())

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}: {box}" for name, box in self.parts.items())
        return f"Parts({inside})"


def how_seen(space: Any) -> tuple[Literal["vector", "parts"], bool]:
    """How rows of a space were made: as one vector or by parts, and whether with an action mask."""
    if not isinstance(space, PartedRows):
        return "vector", False
    return "vector" if set(space.observed) == {WHOLE} else "parts", MASK in space.parts


def is_like(one: Any, other: Any) -> bool:
    """Whether what acts in one space can act in the other: bounds and names of dtypes may differ, sizes may not."""
    if isinstance(one, PartedRows) or isinstance(other, PartedRows):
        return _shapes(one) == _shapes(other)
    return _sizes(one) == _sizes(other)


def _shapes(space: Any) -> Any:
    if not isinstance(space, PartedRows):
        return None
    return [(name, box.shape) for name, box in space.parts.items()]


def _sizes(space: Any) -> Any:
    match space:
        case spaces.Discrete():
            return "Discrete", int(cast(Any, space).n)
        case spaces.MultiDiscrete():
            return "MultiDiscrete", cast(Any, space.nvec).tolist()
        case spaces.MultiBinary():
            return "MultiBinary", space.shape
        case _:
            return "", space.shape
