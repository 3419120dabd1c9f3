"""Pictures for algorithms with convolutions: the last four of them, grey, 84×84, uint8.

A family says how its environments become such pictures (`Family.pixels`); `plain_pixels` is the rule of all that have
no rule of their own. Everything is uint8 and nothing is allocated at a step: a stack is moved on in place, and the
vector environment copies it into its batch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from mosaic.errors import IncompatibleSpaces, MissingExtra

if TYPE_CHECKING:
    from gymnasium import Env
    from gymnasium.envs.registration import EnvSpec

SIDE = 84
FRAMES = 4
SKIP = 4
"""Frames for which a step of an Atari game repeats its action."""
SHAPE = (FRAMES, SIDE, SIDE)

Shrink = Callable[[Any, Any], None]
"""Scales a grey picture (first) into an 84×84 one (second)."""


@dataclass(frozen=True, kw_only=True)
class Pixels:
    """How one environment is shown as pictures."""

    wrap: "Callable[[Env[Any, Any]], Env[Any, Any]]"
    """Puts the wrapper around it that makes the stacks."""
    wrap_whole: "Callable[[Env[Any, Any]], Env[Any, Any]] | None" = None
    """The same for actors that play: whole games with their true rewards; None where `wrap` gives these."""
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What it is made with."""
    pool_name: str = ""
    """What envpool calls the same; empty where it has nothing like it."""
    pool_kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What envpool makes it with."""


def plain_pixels(spec: "EnvSpec", _settings: Mapping[str, Any]) -> Pixels:
    """The rule: a picture is made grey and 84×84, and the last four are stacked; rewards stay as they are."""

    def wrap(env: "Env[Any, Any]") -> "Env[Any, Any]":
        from mosaic.envs.observations.stacked_pictures import StackedPictures

        if is_stack(env.observation_space):
            return env  # ViZDoom's, for example: they are such stacks already.
        if not _is_picture(env.observation_space):
            raise IncompatibleSpaces(f"'{spec.id}' shows no pictures but {env.observation_space}")
        return StackedPictures(env)

    return Pixels(wrap=wrap)


def is_stack(space: Any) -> bool:
    """Whether it is what algorithms on pictures learn from."""
    return space.shape == SHAPE and str(space.dtype) == "uint8"


def _is_picture(space: Any) -> bool:
    shape: tuple[int, ...] = getattr(space, "shape", None) or ()
    return str(getattr(space, "dtype", "")) == "uint8" and (len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3)))


def shrinker() -> Shrink:
    """OpenCV's area average, which envpool and Gymnasium use too."""
    cv2 = open_cv()

    def shrink(picture: Any, into: Any) -> None:
        cv2.resize(picture, (SIDE, SIDE), into, 0, 0, cv2.INTER_AREA)

    return shrink


def open_cv() -> Any:
    try:
        cv2 = cast(Any, import_module("cv2"))
    except ModuleNotFoundError as error:
        raise MissingExtra("making pictures 84×84", "atari") from error
    # Pictures this small are slower on more threads, and a thread of its own would outlive a fork.
    cv2.setNumThreads(1)
    return cv2
