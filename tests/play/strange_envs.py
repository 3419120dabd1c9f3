"""Environments that misbehave, for sessions that must not."""

import time
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Strange(gym.Env[Any, Any]):
    """Hangs at its fifth step, or raises there, once a process."""

    metadata = {"render_modes": [], "render_fps": 100}  # noqa: RUF012
    observation_space = spaces.Box(-1, 1, (2,), np.float32)
    action_space = spaces.Discrete(2)
    raised = False

    def __init__(self, how: str = "hang") -> None:
        self._how = how
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._steps = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        if self._steps == 5 and self._how == "hang":
            time.sleep(1000)
        if self._steps == 5 and self._how == "raise" and not Strange.raised:
            Strange.raised = True
            raise RuntimeError("the gears jammed")
        return np.full(2, self._steps / 100, np.float32), 1.0, False, self._steps >= 20, {}


gym.register("Hangs-v0", Strange, kwargs={"how": "hang"})
gym.register("Raises-v0", Strange, kwargs={"how": "raise"})
gym.register("Blind-v0", Strange, kwargs={"how": "nothing"})
