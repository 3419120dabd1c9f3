"""The environments of the choices family; importing this registers them. Each is learnt in a few thousand steps."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from mosaic.envs.observations.parted_rows import MASK

ROUNDS = 8
"""Steps of an episode of the tasks that ask one question after the other."""
SIDE = 32
"""Pixels of a cell in a picture."""


class Task(gymnasium.Env[Any, Any]):
    """Asks something at each step; what is answered is rewarded at once."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012
    rounds = ROUNDS

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self._clock = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._clock = 0
        self._begin()
        return self._seen(), self._told()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward = self._answer(action)
        self._clock += 1
        return self._seen(), reward, self._clock >= self.rounds, False, self._told()

    def render(self) -> Any:
        """The cells of the task as grey squares."""
        cells = np.clip(np.atleast_2d(self._cells()).astype(np.float64) * 207 + 48, 0, 255).astype(np.uint8)
        square = np.ones((SIDE, SIDE), np.uint8)
        square[0], square[:, 0] = 0, 0
        return np.repeat(np.kron(cells, square)[:, :, None], 3, axis=2)

    def _begin(self) -> None:
        raise NotImplementedError

    def _answer(self, action: Any) -> float:
        """The reward of an action; the next question."""
        raise NotImplementedError

    def _seen(self) -> Any:
        raise NotImplementedError

    def _cells(self) -> Any:
        """Numbers from 0 to 1 that a picture shows."""
        raise NotImplementedError

    def _told(self) -> dict[str, Any]:
        return {}


class Doors(Task):
    """Eight doors, some of them open: the open one with the highest number pays 1, another 0, a closed one -1.

    Which are open is told by `info["action_mask"]` alone: without it nothing but chance helps.
    """

    doors = 8
    observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)
    action_space = spaces.Discrete(doors)

    def _begin(self) -> None:
        self.open = np.zeros(self.doors, np.int8)
        self.open[self.np_random.choice(self.doors, 3, replace=False)] = 1

    def _answer(self, action: Any) -> float:
        reward = float(int(action) == np.flatnonzero(self.open)[-1]) if self.open[int(action)] else -1.0
        self._begin()
        return reward

    def _seen(self) -> Any:
        return np.array([self._clock / self.rounds], np.float32)

    def _told(self) -> dict[str, Any]:
        return {MASK: self.open.copy()}

    def _cells(self) -> Any:
        return self.open


class Dials(Task):
    """Two dials to be set to what is shown, half a reward for each; some settings are blocked, as `action_masks` says.

    A blocked setting that is chosen all the same costs 1.
    """

    nvec = (3, 4)
    observation_space = spaces.Box(0.0, 1.0, (sum(nvec),), np.float32)
    action_space = spaces.MultiDiscrete(list(nvec))

    def _begin(self) -> None:
        self.wanted = [int(self.np_random.integers(size)) for size in self.nvec]
        self.free = self.np_random.random(sum(self.nvec)) < 0.7
        for at, first in zip(self.wanted, (0, self.nvec[0]), strict=True):
            self.free[first + at] = True

    def action_masks(self) -> Any:
        return self.free.copy()

    def _answer(self, action: Any) -> float:
        set_to = [int(each) for each in action]
        is_free = all(self.free[first + at] for first, at in zip((0, self.nvec[0]), set_to, strict=True))
        reward = sum(one == other for one, other in zip(set_to, self.wanted, strict=True)) / 2 if is_free else -1.0
        self._begin()
        return reward

    def _seen(self) -> Any:
        row = np.zeros(sum(self.nvec), np.float32)
        row[[self.wanted[0], self.nvec[0] + self.wanted[1]]] = 1.0
        return row

    def _cells(self) -> Any:
        return np.stack([self._seen(), self.free])


class Switches(Task):
    """Four switches to be set as the lamps are, a quarter of the reward for each; the clock means nothing."""

    observation_space = spaces.Tuple((spaces.MultiBinary(4), spaces.Discrete(ROUNDS + 1)))
    action_space = spaces.MultiBinary(4)

    def _begin(self) -> None:
        self.lamps = self.np_random.integers(0, 2, 4, dtype=np.int8)

    def _answer(self, action: Any) -> float:
        reward = sum(int(one) == int(other) for one, other in zip(action, self.lamps, strict=True)) / 4
        self._begin()
        return reward

    def _seen(self) -> Any:
        return self.lamps.copy(), self._clock

    def _cells(self) -> Any:
        return self.lamps


class Signpost(Task):
    """A bright square in a corner of a picture, and a wind: go to its corner, against the wind to the opposite one.

    The observation is a Dict of the picture and the wind; either alone does not tell where to go.
    """

    observation_space = spaces.Dict(
        {"picture": spaces.Box(0, 255, (12, 12, 1), np.uint8), "wind": spaces.Box(-1.0, 1.0, (1,), np.float32)}
    )
    action_space = spaces.Discrete(4)

    def _begin(self) -> None:
        self.corner = int(self.np_random.integers(4))
        self.wind = float(self.np_random.choice([-1.0, 1.0]))
        self.picture = np.zeros((12, 12, 1), np.uint8)
        row, column = self.np_random.integers(0, 4, 2) + 6 * np.array(divmod(self.corner, 2))
        self.picture[row : row + 2, column : column + 2] = 255

    def _answer(self, action: Any) -> float:
        reward = float(int(action) == (self.corner if self.wind > 0 else 3 - self.corner))
        self._begin()
        return reward

    def _seen(self) -> Any:
        return {"picture": self.picture.copy(), "wind": np.array([self.wind], np.float32)}

    def _cells(self) -> Any:
        return self.picture[:, :, 0] / 255 if self.wind > 0 else 1 - self.picture[:, :, 0] / 255


class Catch(Task):
    """A ball falls through a grid, with a channel for the ball and one for the paddle: 1 if it is caught, else -1."""

    rows, columns = 8, 7
    rounds = rows - 1
    # Of truth values, as MinAtar's, which the annotations of Gymnasium know nothing of.
    observation_space: Any = spaces.Box(0, 1, (rows, columns, 2), np.bool_)  # type: ignore[call-overload]
    action_space = spaces.Discrete(3)

    def _begin(self) -> None:
        self.ball = int(self.np_random.integers(self.columns))
        self.paddle = self.columns // 2

    def _answer(self, action: Any) -> float:
        self.paddle = min(max(self.paddle + int(action) - 1, 0), self.columns - 1)
        if self._clock + 1 < self.rounds:
            return 0.0
        return 1.0 if self.paddle == self.ball else -1.0

    def _seen(self) -> Any:
        grid = np.zeros((self.rows, self.columns, 2), np.bool_)
        grid[self._clock, self.ball, 0] = True
        grid[-1, self.paddle, 1] = True
        return grid

    def _cells(self) -> Any:
        return self._seen().any(axis=2)


class Beam(Task):
    """A row of cells with a channel for a light and one for us: step towards the light, and it moves elsewhere."""

    cells = 24
    observation_space = spaces.Box(0.0, 1.0, (cells, 2), np.float32)
    action_space = spaces.Discrete(2)

    def _begin(self) -> None:
        self.here, self.light = (int(each) for each in self.np_random.choice(self.cells, 2, replace=False))

    def _answer(self, action: Any) -> float:
        reward = float((self.light > self.here) == bool(action))
        self._begin()
        return reward

    def _seen(self) -> Any:
        row = np.zeros((self.cells, 2), np.float32)
        row[self.light, 0] = row[self.here, 1] = 1.0
        return row

    def _cells(self) -> Any:
        return self._seen().T


for _class in (Doors, Dials, Switches, Signpost, Catch, Beam):
    if f"mosaic/{_class.__name__}-v0" not in gymnasium.registry:
        gymnasium.register(f"mosaic/{_class.__name__}-v0", f"{__name__}:{_class.__name__}")
