"""Gold and enemies cross the rows of a field, in the manner of Asterix."""

from dataclasses import dataclass
from typing import ClassVar

from mosaic.envs.grid_games.grid_game import SIDE, GridGame, Planes

FIRST, LAST = 1, SIDE - 2
"""Rows of the field."""
PACE, FASTEST = 4, 1
"""Steps for each cell that gold and enemies move, at first and at last."""
APART, CLOSEST = 8, 4
"""Steps between two that come in."""
HARDER_AFTER = 150


@dataclass
class Passer:
    row: int
    column: int
    direction: int
    is_gold: bool


class Hunt(GridGame):
    """Gold pays 1, an enemy ends the episode; one in three that come in is gold.

    With `harder`, all move faster and come closer after each 150 steps.
    """

    planes: ClassVar[tuple[str, ...]] = ("player", "enemy", "gold", "moves to the right")
    actions: ClassVar[tuple[str, ...]] = ("nothing", "left", "up", "right", "down")

    def begin(self) -> None:
        self.row, self.column = SIDE // 2, SIDE // 2
        self.clock = 0
        self.passers: list[Passer] = []

    def play(self, action: str) -> tuple[float, bool]:
        level = self.clock // HARDER_AFTER if self.harder else 0
        self.clock += 1
        if self.clock % max(APART - level, CLOSEST) == 0:
            self._come_in()
        down, right = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}.get(action, (0, 0))
        self.row = min(max(self.row + down, FIRST), LAST)
        self.column = min(max(self.column + right, 0), SIDE - 1)
        reward, over = self._meet()
        if self.clock % max(PACE - level, FASTEST) == 0:
            for one in self.passers:
                one.column += one.direction
            self.passers = [one for one in self.passers if 0 <= one.column < SIDE]
            gained, caught = self._meet()
            reward, over = reward + gained, over or caught
        return reward, over

    def _come_in(self) -> None:
        free = sorted(set(range(FIRST, LAST + 1)) - {one.row for one in self.passers})
        if free:
            direction = 1 if self.chance(2) else -1
            row = free[self.chance(len(free))]
            self.passers.append(Passer(row, 0 if direction > 0 else SIDE - 1, direction, self.chance(3) == 0))

    def _meet(self) -> tuple[float, bool]:
        here = [one for one in self.passers if (one.row, one.column) == (self.row, self.column)]
        self.passers = [one for one in self.passers if one not in here]
        return float(sum(one.is_gold for one in here)), any(not one.is_gold for one in here)

    def mark(self, grid: Planes) -> None:
        grid[self.row, self.column, 0] = True
        for one in self.passers:
            grid[one.row, one.column, 2 if one.is_gold else 1] = True
            grid[one.row, one.column, 3] = one.direction > 0
