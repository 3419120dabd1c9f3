"""What one environment observes and what the agent makes of it, for viewers that ask; in the learner's time.

It is told a few times a second, between two steps, and draws no random number: a run that is looked at takes the same
steps as one that is not.
"""

import base64
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mosaic.envs import VecEnv
from mosaic.envs.action_names import action_names, known_names
from mosaic.fastlane.ring_layout import ABOUT_BYTES

Array = np.ndarray[Any, Any]
EVERY_S = 0.2
MOST_NUMBERS = 32
"""Of an observation; of a longer one these are the first."""
PICTURE = 42
"""Pixels of a picture's longer side, at most."""
DIGITS = 4


class ExplainedSlot:
    """`text` is JSON, as docs/protocols/fastlane.md has it; empty where nothing is to be said."""

    def __init__(self, envs: VecEnv, env_id: str, complain: Callable[[str], None]) -> None:
        self.explain: Callable[[Array], Mapping[str, Any]] | None = None
        """Of one observation, as a batch of one row: `probabilities` and `values` of the actions, and a `value`."""
        self._envs, self._complain = envs, complain
        self._env_id = env_id
        self._told = ""
        self._about = -1
        self._due_at = 0.0

    def text(self, slot: int) -> str:
        """Made anew a few times a second; at once for another slot."""
        now = time.monotonic()
        if slot == self._about and now < self._due_at:
            return self._told
        self._about = slot
        try:
            self._told = self._text(slot)
        except Exception as error:  # A border: an algorithm or an environment of the user's may raise anything.
            self.explain, self._told = None, ""
            self._complain(f"what the agent makes of its observations cannot be shown ({error!r}); the run goes on")
        self._due_at = now + EVERY_S
        return self._told

    def _text(self, slot: int) -> str:
        row = self._envs.current_obs[slot : slot + 1]
        found: dict[str, Any] = {
            "env": slot,
            "t": int(self._envs.episode_so_far(slot)[1]),
            "mission": self._mission(slot),
            "actions": self._names(),
            "last": _rounded(self.explain(row)) if self.explain is not None else {},
            "observation": _observation(row[0]),
        }
        # Cut JSON is none: what takes the room is left out, the least important first.
        for left_out in (
            {},
            {"observation": None, "actions": []},
            {"last": _without_lists(found["last"])},
            {"mission": ""},
        ):
            found |= left_out
            text = json.dumps(found, separators=(",", ":"), allow_nan=False)
            if len(text.encode()) < ABOUT_BYTES:
                return text
        return ""

    def _names(self) -> list[str]:
        count = getattr(self._envs.single_action_space, "n", None)
        if count is None:
            return []
        alone: Any = getattr(self._envs, "envs", None)
        names = action_names(alone[0]) if isinstance(alone, list) and alone else ()
        return list(names or known_names(self._env_id, int(count)))

    def _mission(self, slot: int) -> str:
        try:
            told = self._envs.call("mission")[slot]
        except AttributeError:
            return ""
        return told if isinstance(told, str) else ""


def _observation(seen: Array) -> dict[str, Any]:
    about: dict[str, Any] = {"kind": "numbers", "shape": list(seen.shape), "dtype": str(seen.dtype)}
    if seen.dtype == np.uint8 and seen.ndim == 3:
        # Of a stack the newest picture.
        step = max(1, -(-max(seen.shape[1:]) // PICTURE))
        small = np.ascontiguousarray(seen[-1, ::step, ::step])
        return about | {"picture": list(small.shape), "bytes": base64.b64encode(small.tobytes()).decode()}
    flat = seen.reshape(-1)[:MOST_NUMBERS].astype(float)
    return about | {"numbers": [_number(value) for value in flat.tolist()]}


def _rounded(told: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: [_number(value) for value in told_now] if isinstance(told_now, list | tuple) else _number(told_now)
        for name, told_now in told.items()
        if not isinstance(told_now, str)
    }


def _without_lists(told: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in told.items() if not isinstance(value, list)}


def _number(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
