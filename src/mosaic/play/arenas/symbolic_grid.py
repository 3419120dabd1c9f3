"""The symbolic state of a grid world: what stands in each cell, as text and colour, to be looked at and planned on.

A board is rows of cells, each `[text, colour]`; colours are words that every view can choose its own shade for. Walls
between cells (Taxi) are pairs of a row and a column, to the right of that cell.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mosaic.config import JsonValue

Cell = tuple[str, str]
_ARROWS = "→↓←↑"


@dataclass(frozen=True)
class SymbolicGrid:
    """One moment."""

    rows: list[list[Cell]]
    agent: tuple[int, int]
    """Row and column."""
    facing: str = ""
    """An arrow, where the agent looks somewhere."""
    walls: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def as_json(self) -> dict[str, JsonValue]:
        return {
            "rows": [[list(cell) for cell in row] for row in self.rows],
            "agent": list(self.agent),
            "facing": self.facing,
            "walls": [list(wall) for wall in self.walls],
        }


def symbolic_grid_of(env_id: str, simulator: Any) -> SymbolicGrid | None:
    """The grid of a grid world that is known here; None for all others."""
    name = env_id.rpartition(":")[2]
    for prefix, read in (("FrozenLake", _frozen_lake), ("CliffWalking", _cliff), ("Taxi", _taxi)):
        if name.startswith(prefix) and getattr(simulator, "s", None) is not None:
            return read(simulator)
    if hasattr(simulator, "agent_dir") and hasattr(simulator, "grid"):
        return _minigrid(simulator) if simulator.agent_dir is not None else None
    return None


def _frozen_lake(simulator: Any) -> SymbolicGrid:
    colours = {"S": "start", "F": "floor", "H": "danger", "G": "goal"}
    tiles = [[bytes(tile).decode() for tile in row] for row in simulator.desc]
    rows = [[("" if tile == "F" else tile, colours[tile]) for tile in row] for row in tiles]
    return SymbolicGrid(rows, divmod(int(simulator.s), len(rows[0])))


def _cliff(simulator: Any) -> SymbolicGrid:
    height, width = simulator.shape
    rows: list[list[Cell]] = [[("", "floor")] * width for _ in range(height)]
    for row, column in np.argwhere(np.asarray(simulator._cliff)):
        rows[int(row)][int(column)] = ("C", "danger")
    rows[height - 1][0], rows[height - 1][width - 1] = ("S", "start"), ("G", "goal")
    return SymbolicGrid(rows, divmod(int(simulator.s), width))


def _taxi(simulator: Any) -> SymbolicGrid:
    row, column, passenger, destination = (int(part) for part in simulator.decode(simulator.s))
    drawn = [[bytes(tile).decode() for tile in line] for line in simulator.desc]
    rows: list[list[Cell]] = [[(drawn[at + 1][2 * to + 1].strip(), "floor") for to in range(5)] for at in range(5)]
    for index, (at, to) in enumerate(simulator.locs):
        colour = "goal" if index == destination else "passenger" if index == passenger else "start"
        rows[at][to] = (rows[at][to][0], colour)
    walls = [(at, to) for at in range(5) for to in range(4) if drawn[at + 1][2 * to + 2] == "|"]
    return SymbolicGrid(rows, (row, column), "" if passenger < 4 else "P", walls)


def _minigrid(simulator: Any) -> SymbolicGrid:
    rows: list[list[Cell]] = []
    for row in range(int(simulator.height)):
        line: list[Cell] = []
        for column in range(int(simulator.width)):
            thing = simulator.grid.get(column, row)
            line.append(("", "floor") if thing is None else _thing(thing))
        rows.append(line)
    column, row = (int(part) for part in simulator.agent_pos)
    return SymbolicGrid(rows, (row, column), _ARROWS[int(simulator.agent_dir)])


def _thing(thing: Any) -> Cell:
    if thing.type == "wall":
        return "", "wall"
    if thing.type == "door":
        return ("/" if thing.is_open else "L" if thing.is_locked else "D"), str(thing.color)
    known = {"goal": ("G", "goal"), "lava": ("", "danger"), "floor": ("", "floor")}
    return known.get(thing.type, (str(thing.type)[0], str(thing.color)))
