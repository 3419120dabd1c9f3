"""A picture environment that is learnt in a few hundred steps: `worker_pictures:Lights-v0`.

One half of the picture is bright, the left or the right one; the action that names it is rewarded. An episode is ten
steps.
"""

from typing import Any

import gymnasium as gym
import numpy as np

STEPS = 10


class Lights(gym.Env[Any, Any]):
    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = gym.spaces.Box(0, 255, (84, 84), np.uint8)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.steps = 0
        self.bright = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return self._next(), {}

    def step(self, action: Any) -> Any:
        reward = float(action == self.bright)
        self.steps += 1
        return self._next(), reward, self.steps == STEPS, False, {}

    def render(self) -> Any:
        return np.repeat(self._picture()[:, :, None], 3, axis=2)

    def _next(self) -> Any:
        self.bright = int(self.np_random.integers(2))
        return self._picture()

    def _picture(self) -> Any:
        picture = np.zeros((84, 84), np.uint8)
        picture[:, 42 * self.bright :][:, :42] = 255
        return picture


gym.register("Lights-v0", Lights)
