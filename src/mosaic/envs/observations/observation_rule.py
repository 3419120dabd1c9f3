"""The observation rule: what an algorithm sees of each kind of observation space, as one vector or by its parts."""

import warnings
from collections.abc import Callable, Iterator
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
    with warnings.catch_warnings():
        # Of parts in float32 and float64, one bound becomes the other's type.
        warnings.filterwarnings("ignore", message=".*precision lowered by casting.*")
        flat = cast("Space[Any]", spaces.flatten_space(space))
    if not isinstance(flat, spaces.Box):
        # Sequence, Graph and Text have no fixed size; the caller names the environment in its error.
        raise TypeError(f"{space} has no fixed size")

    def flatten(obs: Any) -> Any:
        return np.asarray(spaces.flatten(space, obs), dtype=np.float32)

    return Encoder(_as_float32(cast("Box[Any]", flat)), flatten)


def parts_encoder(space: "Space[Any]") -> Encoder:
    """One row of all parts, in which each Box of a Dict or Tuple keeps its shape; what is not a Box becomes a vector.

    The parts of a Dict have its keys, those of a Tuple are counted from 0, and inner ones follow a dot: `arm.camera`. A
    space that is neither is one part, "observation".
    """
    import numpy as np

    from mosaic.envs.observations.parted_rows import MASK, PartedRows

    leaves = _leaves(space, "", lambda obs: obs)
    # A mask that is shown is not one that is kept to.
    found = [
        ("mask" if name == MASK else name or "observation", flat_encoder(part), look) for name, part, look in leaves
    ]
    parts = {name: encoder.space for name, encoder, _ in found}
    if len(parts) < len(found):
        raise TypeError(f"two parts of {space} have the same name")
    seen = PartedRows({name: _as_float32(box) if box.shape else _number(box) for name, box in parts.items()})
    places = list(seen.slices.values())
    length = seen.shape[0]

    def encode(obs: Any) -> Any:
        row = np.empty(length, dtype=np.float32)
        for place, (_, encoder, look) in zip(places, found, strict=True):
            part = look(obs)
            row[place] = np.ravel(part if encoder.encode is None else encoder.encode(part))
        return row

    return Encoder(seen, encode)


def with_mask(inner: Encoder, choices: int) -> Encoder:
    """A row of {"observation": …, "action_mask": …}: what `inner` makes of the first, and then the mask."""
    import numpy as np
    from gymnasium import spaces

    from mosaic.envs.observations.parted_rows import MASK, WHOLE, PartedRows

    parts = inner.space.parts if isinstance(inner.space, PartedRows) else {WHOLE: _as_float32(inner.space)}
    seen = PartedRows({**parts, MASK: spaces.Box(0.0, 1.0, (choices,), np.float32)})
    length = seen.shape[0]

    def encode(obs: Any) -> Any:
        row = np.empty(length, dtype=np.float32)
        observation = obs["observation"]
        row[:-choices] = np.ravel(observation if inner.encode is None else inner.encode(observation))
        row[-choices:] = obs[MASK]
        return row

    return Encoder(seen, encode)


def _leaves(
    space: "Space[Any]", name: str, look: Callable[[Any], Any]
) -> "Iterator[tuple[str, Space[Any], Callable[[Any], Any]]]":
    """Each part with its name and how it is found in an observation."""
    from gymnasium import spaces

    inner: Any = getattr(space, "spaces", None)
    if not isinstance(space, spaces.Dict | spaces.Tuple):
        yield name, space, look
        return
    for key, part in inner.items() if isinstance(space, spaces.Dict) else enumerate(inner):
        own = f"{name}.{key}" if name else str(key)
        yield from _leaves(part, own, lambda obs, key=key: look(obs)[key])


def _number(box: "Box[Any]") -> "Box[Any]":
    """A Box without a shape as a vector of one number."""
    import numpy as np
    from gymnasium import spaces

    return spaces.Box(np.float32(box.low), np.float32(box.high), (1,), np.float32)


def _as_float32(box: "Box[Any]") -> "Box[Any]":
    import numpy as np
    from gymnasium import spaces

    # Bounds beyond float32 (±1.8e308 in some environments) become infinite, which is what they mean.
    with np.errstate(over="ignore"):
        low, high = box.low.astype(np.float32), box.high.astype(np.float32)
    return spaces.Box(low, high, dtype=np.float32)
