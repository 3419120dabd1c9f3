"""Pictures of slots in two steps: one during which the environment must hold still, and one that can wait.

For most environments the first step is all of `render()`. A family whose simulator's state can be copied in
microseconds (`Family.camera`) copies it in the first and draws the copy in the second, in a thread of its own choice.
"""

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Renders(Protocol):
    """What a plain camera needs."""

    def render_slot(self, slot: int) -> "NDArray[np.uint8] | None": ...


class Camera(Protocol):
    """`develop` is always called by the same thread; `expose` by the one that steps the environments if it is quick."""

    quick: bool
    """`expose` takes microseconds and cannot block."""

    def expose(self, slot: int) -> None:
        """Take what is needed of a slot, which must hold still meanwhile."""
        ...

    def develop(self, width: int) -> "NDArray[np.uint8] | None":
        """The picture of the last `expose`, about `width` pixels wide or more; None where nothing is rendered."""
        ...

    def close(self) -> None:
        """Called by the thread that calls `develop`."""
        ...


class PlainCamera:
    """The environment's own `render()`."""

    quick = False

    def __init__(self, envs: Renders) -> None:
        self._envs = envs
        self._picture: NDArray[np.uint8] | None = None

    def expose(self, slot: int) -> None:
        self._picture = self._envs.render_slot(slot)

    def develop(self, width: int) -> "NDArray[np.uint8] | None":  # noqa: ARG002
        return self._picture

    def close(self) -> None:
        self._picture = None
