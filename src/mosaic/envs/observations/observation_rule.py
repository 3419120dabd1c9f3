"""The observation rule: what an algorithm with an MLP sees of each kind of observation space."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from gymnasium import Space
    from gymnasium.spaces import Box


@dataclass(frozen=True)
class Encoder:
    """`space` is what the algorithm sees; `encode` makes it, or is None when a cast to `space.dtype` is all."""

    space: "Box[Any]"
    encode: Callable[[Any], Any] | None = None


def flat_encoder(space: "Space[Any]") -> Encoder:
    """The rule of all families without their own.

    | observation space | becomes |
    |---|---|
    | Box of uint8 (pictures, RAM) | itself |
    | Box of another dtype | the same shape as float32 |
    | Discrete(n) | one-hot float32 of length n |
    | Tuple, Dict, MultiDiscrete, MultiBinary | flattened to one float32 vector, discrete parts as one-hots |
    """
    import numpy as np
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        box = cast("Box[Any]", space)
        return Encoder(box if str(box.dtype) in ("uint8", "float32") else _as_float32(box))
    if isinstance(space, spaces.Discrete):
        size, start = int(space.n), int(space.start)

        def one_hot(state: Any) -> Any:
            row = np.zeros(size, dtype=np.float32)
            row[int(state) - start] = 1.0
            return row

        return Encoder(spaces.Box(0.0, 1.0, (size,), np.float32), one_hot)
    flat = cast("Space[Any]", spaces.flatten_space(space))
    if not isinstance(flat, spaces.Box):
        # Sequence, Graph and Text have no fixed size; the caller names the environment in its error.
        raise TypeError(f"{space} has no fixed size")

    def flatten(obs: Any) -> Any:
        return np.asarray(spaces.flatten(space, obs), dtype=np.float32)

    return Encoder(_as_float32(cast("Box[Any]", flat)), flatten)


def _as_float32(box: "Box[Any]") -> "Box[Any]":
    import numpy as np
    from gymnasium import spaces

    # Bounds beyond float32 (±1.8e308 in some environments) become infinite, which is what they mean.
    with np.errstate(over="ignore"):
        low, high = box.low.astype(np.float32), box.high.astype(np.float32)
    return spaces.Box(low, high, dtype=np.float32)
