"""A ship below a fleet that comes down, in the manner of Space Invaders."""

from typing import ClassVar

import numpy as np

from mosaic.envs.grid_games.grid_game import SIDE, GridGame, Planes, inside

BOTTOM = SIDE - 1
ROWS, COLUMNS = 4, 6
"""Of the fleet."""
RELOAD = 3
"""Steps between two shots of the ship."""
ANSWER = 6
"""Steps between two shots of the fleet."""
PACE, FASTEST = 8, 3
"""Steps for each cell that the fleet moves, of the first fleet and of the last."""


class Fleet(GridGame):
    """Each ship of the fleet that is shot pays 1; a shot that hits us, or a ship that reaches us, ends the episode.

    When all are gone the next fleet comes. With `harder`, it moves faster than the one before.
    """

    planes: ClassVar[tuple[str, ...]] = (
        "our ship",
        "ship of the fleet",
        "our shot",
        "their shot",
        "the fleet moves to the right",
    )
    actions: ClassVar[tuple[str, ...]] = ("nothing", "left", "right", "fire")

    def begin(self) -> None:
        self.column = SIDE // 2
        self.clock = 0
        self.loaded_at = 0
        self.ours = np.zeros((SIDE, SIDE), np.bool_)
        self.theirs = np.zeros((SIDE, SIDE), np.bool_)
        self.fleets = 0
        self._sail_in()

    def _sail_in(self) -> None:
        first = self.chance(SIDE - COLUMNS + 1)
        self.fleet = np.zeros((SIDE, SIDE), np.bool_)
        self.fleet[:ROWS, first : first + COLUMNS] = True
        self.direction = 1 if self.chance(2) else -1
        self.pace = max(PACE - self.fleets, FASTEST) if self.harder else PACE
        self.fleets += 1

    def play(self, action: str) -> tuple[float, bool]:
        self.clock += 1
        self.column = inside(self.column + {"left": -1, "right": 1}.get(action, 0))
        if action == "fire" and self.clock >= self.loaded_at:
            self.ours[BOTTOM, self.column] = True
            self.loaded_at = self.clock + RELOAD
        self.ours = _moved(self.ours, -1, 0)
        reward = self._score()
        self.theirs = _moved(self.theirs, 1, 0)
        over = bool(self.theirs[BOTTOM, self.column])
        if self.clock % self.pace == 0:
            self._advance()
            reward += self._score()
        if self.clock % ANSWER == 0:
            self._answer()
        over = over or bool(self.fleet[BOTTOM].any())
        if not self.fleet.any():
            self._sail_in()
        return reward, over

    def _score(self) -> float:
        hit = self.fleet & self.ours
        self.fleet &= ~hit
        self.ours &= ~hit
        return float(hit.sum())

    def _advance(self) -> None:
        """To the side, and at the edge down and back."""
        if self.fleet[:, SIDE - 1 if self.direction > 0 else 0].any():
            self.direction = -self.direction
            self.fleet = _moved(self.fleet, 1, 0)
        else:
            self.fleet = _moved(self.fleet, 0, self.direction)

    def _answer(self) -> None:
        """The ship of the fleet whose column is the nearest to ours shoots."""
        columns = np.flatnonzero(self.fleet.any(axis=0))
        if columns.size:
            column = int(columns[np.abs(columns - self.column).argmin()])
            row = int(np.flatnonzero(self.fleet[:, column])[-1])
            self.theirs[row, column] = True

    def mark(self, grid: Planes) -> None:
        grid[BOTTOM, self.column, 0] = True
        grid[:, :, 1] = self.fleet
        grid[:, :, 2] = self.ours
        grid[:, :, 3] = self.theirs
        grid[:, :, 4] = self.fleet & (self.direction > 0)


def _moved(things: Planes, down: int, right: int) -> Planes:
    """What leaves the grid is gone."""
    moved = np.zeros_like(things)
    rows, columns = np.nonzero(things)
    rows, columns = rows + down, columns + right
    stays = (rows >= 0) & (rows < SIDE) & (columns >= 0) & (columns < SIDE)
    moved[rows[stays], columns[stays]] = True
    return moved
