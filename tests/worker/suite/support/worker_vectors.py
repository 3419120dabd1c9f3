"""Environments with small vectors that are learnt in a few hundred steps: `worker_vectors:test/Lamps-v0` and `:Aim-v0`.

Lamps: one of two lamps is lit; the action that names it is rewarded. Aim: a number is shown; the nearer the action
comes to it, the better. An episode is ten steps.
"""

from typing import Any

import gymnasium as gym
import numpy as np

STEPS = 10


class TenSteps(gym.Env[Any, Any]):
    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.steps = 0
        self.shown = np.zeros(1, np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        self.shown = self.next()
        return self.shown, {}

    def step(self, action: Any) -> Any:
        reward = self.reward(action)
        self.steps += 1
        self.shown = self.next()
        return self.shown, reward, self.steps == STEPS, False, {}

    def render(self) -> Any:
        return np.full((8, 8, 3), int(100 + 100 * self.shown[0]), np.uint8)

    def next(self) -> Any:
        raise NotImplementedError

    def reward(self, action: Any) -> float:
        raise NotImplementedError


class Lamps(TenSteps):
    observation_space = gym.spaces.Box(0, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def next(self) -> Any:
        return np.eye(2, dtype=np.float32)[self.np_random.integers(2)]

    def reward(self, action: Any) -> float:
        return float(self.shown[int(action)])


class Aim(TenSteps):
    observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gym.spaces.Box(-1, 1, (1,), np.float32)

    def next(self) -> Any:
        return self.np_random.uniform(-1, 1, 1).astype(np.float32)

    def reward(self, action: Any) -> float:
        return 1.0 - abs(float(action[0] - self.shown[0]))


gym.register("test/Lamps-v0", "worker_vectors:Lamps")
gym.register("test/Aim-v0", "worker_vectors:Aim")
