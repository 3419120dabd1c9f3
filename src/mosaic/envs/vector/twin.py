"""Twins: environments of another process that are set to the state of ours, so that drawing them costs us nothing.

A family whose environments have a small state offers a `Twin`: how to take the state (microseconds) and how to put it
into another environment of the same id, which is then rendered where and when a viewer wants it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from gymnasium import Env
    from numpy.typing import NDArray


def _nothing(_env: Any) -> None: ...


def _no_tile(_env: Any, _width: int, _height: int) -> None: ...


def _any_size(_width: int) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Twin:
    """What a family offers; `freeze` and `thaw` get the unwrapped environment."""

    fits: "Callable[[Env[Any, Any]], bool]"
    """Whether this environment of the family can be treated so."""
    freeze: "Callable[[Any], NDArray[np.float64]]"
    """All that a picture depends on, as one vector that always has the same length."""
    thaw: "Callable[[Any, NDArray[np.float64]], None]"
    """Undo `freeze`, in another environment."""
    follow: Callable[[Any], None] = _nothing
    """Called before a picture is taken: point the camera at where the environment is now."""
    simplify: Callable[[Any], None] = _nothing
    """Called once, before the first picture of a twin: leave out what is costly to draw and tells nothing."""
    tile: "Callable[[Any, int, int], NDArray[np.uint8] | None]" = _no_tile
    """The picture as BGRX of exactly this width and height, where that costs less than `render`; else None."""
    sized: Callable[[int], dict[str, Any]] = _any_size
    """Arguments of `make` for pictures of about this width."""


class Freezer:
    """Takes the states of a vector's slots."""

    def __init__(
        self,
        env_id: str,
        envs: "Sequence[Env[Any, Any]]",
        twin: Twin | None,
        *,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.env_id = env_id
        self.settings: Mapping[str, Any] = settings or {}
        """With which a twin must be made."""
        self._envs: list[Any] = [env.unwrapped for env in envs]
        self._twin = twin

    def freeze(self, slot: int) -> "NDArray[np.float64]":
        """The state of one slot, which must have been reset."""
        assert self._twin is not None
        return self._twin.freeze(self._envs[slot])
