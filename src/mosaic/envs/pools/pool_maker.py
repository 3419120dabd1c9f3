"""Making pools of envpool, loading what its games are linked with, and what its spaces mean."""

import ctypes
import sys
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

POOL_NAME = "pool_name"
"""Argument of an environment, or of a rule for pictures, that says what envpool calls it."""
_QT = ("libQt5Core.so.5", "libQt5Gui.so.5")
"""Procgen draws with Qt 5, which envpool leaves to the system; the wheel PyQt5-Qt5 brings the same libraries."""


def load_pools() -> Any:
    """The package envpool, with Qt's libraries loaded before it where they come with a wheel."""
    if "envpool" not in sys.modules and sys.platform == "linux":
        for library in _libraries_of_wheel():
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    return import_module("envpool")


def _libraries_of_wheel() -> list[Path]:
    found = find_spec("PyQt5")
    folders = [Path(place) / "Qt5" / "lib" for place in (found.submodule_search_locations or ())] if found else []
    return [folder / name for folder in folders for name in _QT if (folder / name).is_file()]


def made(name: str, num_envs: int, seed: int, options: Mapping[str, Any]) -> Any:
    """A pool; it takes its seed as an int32."""
    with _quietly():
        pool = load_pools().make(name, env_type="gymnasium", num_envs=num_envs, seed=seed % 2**31, **options)
        _ = pool.observation_space, pool.action_space  # made at the first look, then kept
        return pool


def spec_of(name: str, options: Mapping[str, Any]) -> Any:
    """What a pool will be like; nothing is simulated for that."""
    with _quietly():
        return load_pools().make_spec(name, **options)


def observations_of(spec: Any) -> Any:
    with _quietly():
        return _as_meant(spec.gymnasium_observation_space)


def actions_of(spec: Any) -> Any:
    """Whole numbers within bounds are choices."""
    with _quietly():
        space = _as_meant(spec.gymnasium_action_space)
    if type(space) is not spaces.Box or space.dtype.kind not in "iu":
        return space
    low = space.low.astype(np.int64)
    return spaces.MultiDiscrete(space.high.astype(np.int64) - low + 1, start=low)


def _as_meant(space: Any) -> Any:
    """Where envpool knows no bounds it gives the least and the largest positive number of the type."""
    if type(space) is spaces.Dict:
        parts: Any = space.spaces
        return spaces.Dict([(name, _as_meant(parts[name])) for name in parts])
    if type(space) is not spaces.Box or space.dtype.kind != "f":
        return space
    limits = np.finfo(str(space.dtype))
    low = np.where(space.low == limits.tiny, -np.inf, space.low)
    high = np.where(space.high == limits.max, np.inf, space.high)
    return spaces.Box(low.astype(space.dtype), high.astype(space.dtype), dtype=space.dtype.type)


@contextmanager
def _quietly() -> Generator[None]:
    with warnings.catch_warnings():
        # envpool declares its float32 spaces with float64 bounds, at which Gymnasium warns.
        warnings.filterwarnings("ignore", message=".*precision lowered by casting.*")
        yield
