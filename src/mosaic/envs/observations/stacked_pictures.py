"""Any picture environment as stacks of four grey 84×84 pictures (`mosaic.envs.observations.pixels`)."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from mosaic.envs.observations.pixels import FRAMES, SHAPE, open_cv, shrinker

Picture = NDArray[np.uint8]


class Stack:
    """The last four pictures, oldest first."""

    def __init__(self) -> None:
        self.pictures: Picture = np.zeros(SHAPE, np.uint8)
        self._shrink = shrinker()

    def fill(self, picture: Picture) -> Picture:
        """An episode begins: the first picture four times."""
        self._shrink(picture, self.pictures[-1])
        self.pictures[:-1] = self.pictures[-1]
        return self.pictures

    def push(self, picture: Picture) -> Picture:
        # Slice by slice: numpy would copy overlapping memory twice.
        for older in range(FRAMES - 1):
            self.pictures[older] = self.pictures[older + 1]
        self._shrink(picture, self.pictures[-1])
        return self.pictures


class StackedPictures(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Colour becomes luminance; every step shows a picture more. The array returned is changed by the next step."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.observation_space = spaces.Box(0, 255, SHAPE, np.uint8)
        self._cv2 = open_cv()
        self._stack = Stack()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        return self._stack.fill(self._grey(obs)), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return self._stack.push(self._grey(obs)), reward, terminated, truncated, info

    def _grey(self, picture: Any) -> Picture:
        if picture.shape[2:] == (3,):
            return self._cv2.cvtColor(picture, self._cv2.COLOR_RGB2GRAY)
        return picture.reshape(picture.shape[:2])
