"""A ball, a paddle and a wall of bricks, in the manner of Breakout."""

from typing import ClassVar

import numpy as np

from mosaic.envs.grid_games.grid_game import SIDE, GridGame, Planes, inside

FIRST, END = 1, 4
"""Rows of the wall; the last is the one above `END`."""
BOTTOM = SIDE - 1


class Bricks(GridGame):
    """Each brick that the ball meets pays 1; the episode ends when the ball passes the paddle.

    A new wall stands when the paddle meets the ball and no brick is left. With `harder`, the walls after the first have
    a row more, up to the top.
    """

    planes: ClassVar[tuple[str, ...]] = ("paddle", "ball", "where the ball was", "brick")
    actions: ClassVar[tuple[str, ...]] = ("nothing", "left", "right")

    def begin(self) -> None:
        self.paddle = SIDE // 2
        self.walls = 0
        self._build()
        from_left = bool(self.chance(2))
        self.row: int = END
        self.column: int = 0 if from_left else SIDE - 1
        self.down, self.right = 1, 1 if from_left else -1
        self.was = (self.row, self.column)

    def _build(self) -> None:
        self.bricks = np.zeros((SIDE, SIDE), np.bool_)
        self.bricks[FIRST if self.walls == 0 or not self.harder else 0 : END] = True
        self.walls += 1

    def play(self, action: str) -> tuple[float, bool]:
        self.paddle = inside(self.paddle + {"left": -1, "right": 1}.get(action, 0))
        self.was = (self.row, self.column)
        if not 0 <= self.column + self.right < SIDE:
            self.right = -self.right
        if self.row + self.down < 0:
            self.down = 1
        row, column = self.row + self.down, self.column + self.right
        if self.bricks[row, column]:
            # The ball stays where it is and turns.
            self.bricks[row, column] = False
            self.down = -self.down
            return 1.0, False
        if row < BOTTOM:
            self.row, self.column = row, column
            return 0.0, False
        if self.paddle not in (column, self.column):
            self.row, self.column = row, column
            return 0.0, True
        if self.paddle != column:
            self.right = -self.right
        else:
            self.column = column
        self.down = -1
        if not self.bricks.any():
            self._build()
        return 0.0, False

    def mark(self, grid: Planes) -> None:
        grid[BOTTOM, self.paddle, 0] = True
        grid[self.row, self.column, 1] = True
        grid[(*self.was, 2)] = True
        grid[:, :, 3] = self.bricks
