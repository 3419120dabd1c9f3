"""The environments of the memory family; importing this registers them."""

from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

_CartPole: Any = CartPoleEnv
"""Without its partial types."""


class CartPoleNoVelocity(_CartPole):
    """CartPole that shows where cart and pole are, not how fast they move: speeds must be remembered from the past."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        shown: Any = self.observation_space
        self.observation_space = gymnasium.spaces.Box(shown.low[::2], shown.high[::2], dtype=np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        whole = cast("tuple[Any, ...]", super().reset(seed=seed, options=options))
        return whole[0][::2], whole[1]

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        whole = cast("Any", super().step(action))
        return (whole[0][::2], *whole[1:])


class Recall(gymnasium.Env[Any, Any]):
    """Shows one of four lights, then darkness, then asks which it was: a reward of 1 for the right answer, else 0.

    The observation is (light 0, light 1, light 2, light 3, asked). Actions before the question do nothing. Without a
    memory one answer in four is right.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012
    lights = 4
    darkness = 4
    """Steps between the light and the question."""

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (self.lights + 1,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(self.lights)
        self._light = 0
        self._clock = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._light = int(self.np_random.integers(self.lights))
        self._clock = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        asked = self._clock == self.darkness + 1
        reward = float(asked and int(action) == self._light)
        self._clock += 1
        return self._seen(), reward, asked, False, {}

    def render(self) -> Any:
        """Four squares side by side above a bar that turns white when the question is asked."""
        seen = (255 * self._seen()).astype(np.uint8)
        picture = np.full((80, 80 * self.lights, 3), 24, np.uint8)
        for light in range(self.lights):
            picture[10:60, 80 * light + 15 : 80 * light + 65] = np.maximum(48, seen[light])
        picture[66:74, 15:-15] = np.maximum(48, seen[self.lights])
        return picture

    def _seen(self) -> Any:
        row = np.zeros(self.lights + 1, np.float32)
        if self._clock == 0:
            row[self._light] = 1.0
        row[self.lights] = float(self._clock == self.darkness + 1)
        return row


for _name, _class, _limit in (("CartPoleNoVelocity-v1", CartPoleNoVelocity, 500), ("Recall-v0", Recall, None)):
    if f"mosaic/{_name}" not in gymnasium.registry:
        gymnasium.register(f"mosaic/{_name}", f"{__name__}:{_class.__name__}", max_episode_steps=_limit)
