"""A way across eight lanes of cars, in the manner of Freeway."""

from dataclasses import dataclass
from typing import ClassVar

from mosaic.envs.grid_games.grid_game import SIDE, GridGame, Planes, inside

BOTTOM = SIDE - 1
COLUMN = SIDE // 2
"""In which the way lies."""
SLOWEST = 3


@dataclass
class Car:
    column: int
    direction: int
    pace: int
    """Steps for each cell."""


class Lanes(GridGame):
    """Each crossing from the bottom to the top pays 1; a car sends back to the bottom.

    The traffic is another one after each crossing. With `harder`, it has no more cars of the slowest kind after five
    crossings. An episode lasts until its step limit.
    """

    planes: ClassVar[tuple[str, ...]] = ("player", "car", "behind a fast car", "behind a car", "behind a slow car")
    actions: ClassVar[tuple[str, ...]] = ("nothing", "up", "down")

    def begin(self) -> None:
        self.row = BOTTOM
        self.clock = 0
        self.crossings = 0
        self._drive_in()

    def _drive_in(self) -> None:
        slowest = SLOWEST - 1 if self.harder and self.crossings >= 5 else SLOWEST
        self.cars = [
            Car(self.chance(SIDE), 1 if self.chance(2) else -1, 1 + self.chance(slowest)) for _ in range(1, BOTTOM)
        ]

    def play(self, action: str) -> tuple[float, bool]:
        self.clock += 1
        self.row = inside(self.row + {"up": -1, "down": 1}.get(action, 0))
        if self.row == 0:
            self.row = BOTTOM
            self.crossings += 1
            self._drive_in()
            return 1.0, False
        is_hit = self._meets_car()
        for car in self.cars:
            if self.clock % car.pace == 0:
                car.column = (car.column + car.direction) % SIDE
        if is_hit or self._meets_car():
            self.row = BOTTOM
        return 0.0, False

    def _meets_car(self) -> bool:
        return 0 < self.row < BOTTOM and self.cars[self.row - 1].column == COLUMN

    def mark(self, grid: Planes) -> None:
        grid[self.row, COLUMN, 0] = True
        for row, car in enumerate(self.cars, start=1):
            grid[row, car.column, 1] = True
            grid[row, (car.column - car.direction) % SIDE, 1 + car.pace] = True
