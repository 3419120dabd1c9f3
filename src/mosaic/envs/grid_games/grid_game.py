"""What the games on a grid share: planes of truth values, actions that repeat by chance, and a picture."""

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

SIDE = 10
"""Rows and columns; row 0 is at the top."""
CELL = 24
"""Pixels of a cell in a picture."""
COLOURS = (
    (235, 235, 235),
    (230, 90, 80),
    (240, 190, 60),
    (90, 170, 240),
    (120, 200, 120),
    (180, 130, 220),
    (90, 110, 130),
    (200, 160, 130),
)
"""Of the planes, in their order; where several are set in a cell the first is drawn."""

Planes = NDArray[np.bool_]


class GridGame(gymnasium.Env[Any, Any]):
    """A game says what its planes and actions are, and what a step does.

    `repeat_action_probability`: chance that the last action is done again instead.
    `harder`: the longer an episode lasts, the faster the game.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 8}  # noqa: RUF012
    planes: ClassVar[tuple[str, ...]] = ()
    actions: ClassVar[tuple[str, ...]] = ()
    """Names; the first does nothing."""

    def __init__(
        self, *, repeat_action_probability: float = 0.1, harder: bool = True, render_mode: str | None = None
    ) -> None:
        self.render_mode = render_mode
        self.harder = harder
        self._repeats = repeat_action_probability
        self._last = 0
        self.shown: Planes | None = None
        """What a picture shows instead of this game: another's planes."""
        # Of truth values, which the annotations of Gymnasium know nothing of.
        shape = (SIDE, SIDE, len(self.planes))
        self.observation_space: Any = spaces.Box(0, 1, shape, np.bool_)  # type: ignore[call-overload]
        self.action_space = spaces.Discrete(len(self.actions))

    def get_action_meanings(self) -> list[str]:
        return list(self.actions)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Planes, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._last = 0
        self.begin()
        return self.seen(), {}

    def step(self, action: Any) -> tuple[Planes, float, bool, bool, dict[str, Any]]:
        if self.np_random.random() >= self._repeats:
            self._last = int(action)
        reward, over = self.play(self.actions[self._last])
        return self.seen(), reward, over, False, {}

    def render(self) -> NDArray[np.uint8]:
        seen = self.seen() if self.shown is None else self.shown
        cells = np.full((SIDE, SIDE, 3), 18, np.uint8)
        for plane in reversed(range(len(self.planes))):
            cells[seen[:, :, plane]] = COLOURS[plane]
        picture = np.repeat(np.repeat(cells, CELL, axis=0), CELL, axis=1)
        picture[::CELL], picture[:, ::CELL] = 0, 0
        return picture

    def seen(self) -> Planes:
        grid = np.zeros((SIDE, SIDE, len(self.planes)), np.bool_)
        self.mark(grid)
        return grid

    def chance(self, below: int) -> int:
        """A random number from 0 to below `below`."""
        return int(self.np_random.integers(below))

    # What a game says of itself.

    def begin(self) -> None:
        """A new episode."""
        raise NotImplementedError

    def play(self, action: str) -> tuple[float, bool]:
        """One step; its reward, and whether the episode is over."""
        raise NotImplementedError

    def mark(self, grid: Planes) -> None:
        """Set what is there, plane by plane."""
        raise NotImplementedError


def inside(place: int) -> int:
    """A row or column kept within the grid."""
    return min(max(place, 0), SIDE - 1)
