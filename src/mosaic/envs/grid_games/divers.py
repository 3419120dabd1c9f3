"""A submarine that picks up divers among fish while its air lasts, in the manner of Seaquest."""

from dataclasses import dataclass
from typing import ClassVar

from mosaic.envs.grid_games.grid_game import SIDE, GridGame, Planes, inside

DEEPEST = SIDE - 2
"""Row 0 is the surface; the last row shows how much air is left."""
AIR = 160
"""Steps that a full tank lasts."""
ROOM = 4
"""Divers that the submarine holds."""
PACE, FASTEST = 4, 2
"""Steps for each cell that fish and divers swim."""
APART, CLOSEST = 10, 5
"""Steps between two that come in."""
HARDER_AFTER = 200


@dataclass
class Swimmer:
    row: int
    column: int
    direction: int
    is_diver: bool


class Divers(GridGame):
    """A fish that is shot pays 1, and each diver who is brought up 1; a fish that meets us, or no air, ends it all.

    At the surface the tank is filled and divers leave. With `harder`, all swim faster and come closer after each 200
    steps.
    """

    planes: ClassVar[tuple[str, ...]] = (
        "bow",
        "stern",
        "our shot",
        "fish",
        "diver",
        "swims to the right",
        "air",
        "divers aboard",
    )
    actions: ClassVar[tuple[str, ...]] = ("nothing", "left", "up", "right", "down", "fire")

    def begin(self) -> None:
        self.row, self.column, self.facing = 0, SIDE // 2, 1
        self.clock = 0
        self.air = AIR
        self.aboard = 0
        self.swimmers: list[Swimmer] = []
        self.shots: list[tuple[int, int, int]] = []
        """Row, column and direction."""

    def play(self, action: str) -> tuple[float, bool]:
        level = self.clock // HARDER_AFTER if self.harder else 0
        self.clock += 1
        if self.clock % max(APART - level, CLOSEST) == 0:
            self._come_in()
        self._steer(action)
        reward = self._shoot()
        over = self._meet()
        if self.clock % max(PACE - level, FASTEST) == 0:
            for one in self.swimmers:
                one.column += one.direction
            self.swimmers = [one for one in self.swimmers if 0 <= one.column < SIDE]
            reward += self._hits()
            over = self._meet() or over
        if self.row == 0:
            reward += self.aboard
            self.aboard, self.air = 0, AIR
        else:
            self.air -= 1
        return reward, over or self.air == 0

    def _come_in(self) -> None:
        free = sorted(set(range(1, DEEPEST + 1)) - {one.row for one in self.swimmers})
        if free:
            direction = 1 if self.chance(2) else -1
            row = free[self.chance(len(free))]
            self.swimmers.append(Swimmer(row, 0 if direction > 0 else SIDE - 1, direction, self.chance(3) == 0))

    def _steer(self, action: str) -> None:
        if action in ("left", "right"):
            self.facing = 1 if action == "right" else -1
            self.column = inside(self.column + self.facing)
        elif action in ("up", "down"):
            self.row = min(max(self.row + (1 if action == "down" else -1), 0), DEEPEST)
        elif action == "fire" and not self.shots and self.row > 0:
            self.shots.append((self.row, self.column, self.facing))

    def _shoot(self) -> float:
        """Shots fly two cells a step, and meet what is in each."""
        reward = 0.0
        for _ in range(2):
            self.shots = [(row, column + way, way) for row, column, way in self.shots if 0 <= column + way < SIDE]
            reward += self._hits()
        return reward

    def _hits(self) -> float:
        """Fish that are shot; a shot passes divers."""
        places = {shot[:2] for shot in self.shots}
        hit = [one for one in self.swimmers if not one.is_diver and (one.row, one.column) in places]
        gone = {(one.row, one.column) for one in hit}
        self.swimmers = [one for one in self.swimmers if one not in hit]
        self.shots = [shot for shot in self.shots if shot[:2] not in gone]
        return float(len(hit))

    def _meet(self) -> bool:
        here = [one for one in self.swimmers if (one.row, one.column) == (self.row, self.column)]
        for one in here:
            if one.is_diver and self.aboard < ROOM:
                self.aboard += 1
                self.swimmers.remove(one)
        return any(not one.is_diver for one in here)

    def mark(self, grid: Planes) -> None:
        grid[self.row, self.column, 0] = True
        grid[self.row, inside(self.column - self.facing), 1] = True
        for row, column, _ in self.shots:
            grid[row, column, 2] = True
        for one in self.swimmers:
            grid[one.row, one.column, 4 if one.is_diver else 3] = True
            grid[one.row, one.column, 5] = one.direction > 0
        grid[SIDE - 1, : -(-self.air * SIDE // AIR), 6] = True
        grid[SIDE - 1, : self.aboard, 7] = True
