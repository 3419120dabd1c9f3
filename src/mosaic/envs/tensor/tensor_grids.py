"""Bricks and Lanes, two of the games on a grid (`mosaic.envs.grid_games`), as functions of tensors."""

from abc import abstractmethod
from typing import Any

import torch

from mosaic.envs.grid_games.bricks import BOTTOM, END, FIRST
from mosaic.envs.grid_games.grid_game import SIDE
from mosaic.envs.grid_games.lanes import COLUMN, SLOWEST
from mosaic.envs.tensor.tensor_task import State, TensorTask

LANES = SIDE - 2
LESS_SLOW_AFTER = 5
"""Crossings after which, with `harder`, no car is of the slowest kind."""


class TensorGrid(TensorTask):
    """What the games share: an action that is repeated by chance, whole numbers, and planes."""

    step_draws = 1

    def __init__(self, *, repeat_action_probability: float = 0.1, harder: bool = True) -> None:
        self.repeats = repeat_action_probability
        self.harder = harder

    def step(
        self, state: State, actions: torch.Tensor, draws: torch.Tensor
    ) -> tuple[State, torch.Tensor, torch.Tensor]:
        action = torch.where(draws[:, 0].double() >= self.repeats, actions, state["action"])
        following, rewards, over = self.play(state, action, draws[:, 1:])
        return following | {"action": action}, rewards.double(), over

    @abstractmethod
    def play(self, state: State, action: torch.Tensor, draws: torch.Tensor) -> tuple[State, torch.Tensor, torch.Tensor]:
        """One step with the action that is done."""

    @abstractmethod
    def planes(self, state: State) -> torch.Tensor:
        """What is there: (copies, rows, columns, planes)."""

    def observe(self, state: State) -> torch.Tensor:
        return self.planes(state).flatten(1).float()

    def picture_state(self, row: Any) -> Any:
        # Of whole numbers and truth values alone, all of which a double holds.
        state = {name: torch.as_tensor(value)[None].long() for name, value in row.items()}
        return self.observe(state)[0].numpy()


def whole(draws: torch.Tensor, below: int | torch.Tensor) -> torch.Tensor:
    """Whole numbers from 0 to below `below`."""
    return (draws.double() * below).long()


def at(places: torch.Tensor) -> torch.Tensor:
    """Truth values (copies, rows or columns), true at one place of each copy."""
    return places[:, None] == torch.arange(SIDE, device=places.device)


class TensorBricks(TensorGrid):
    begin_draws = 1

    def wall(self, copies: int, first: int, device: torch.device) -> torch.Tensor:
        rows = torch.arange(SIDE, device=device)
        return ((rows >= first) & (rows < END))[None, :, None].expand(copies, SIDE, SIDE).long()

    def begin(self, draws: torch.Tensor) -> State:
        from_left = whole(draws[:, 0], 2)
        same = torch.ones_like(from_left)
        column = (1 - from_left) * (SIDE - 1)
        return {
            "action": 0 * same,
            "paddle": SIDE // 2 * same,
            "row": END * same,
            "column": column,
            "down": same,
            "right": 2 * from_left - 1,
            "was_row": END * same,
            "was_column": column.clone(),
            "bricks": self.wall(len(draws), FIRST, draws.device),
        }

    def play(self, state: State, action: torch.Tensor, draws: torch.Tensor) -> tuple[State, torch.Tensor, torch.Tensor]:
        del draws
        old_row, old_column, right, bricks = state["row"], state["column"], state["right"], state["bricks"]
        paddle = (state["paddle"] - (action == 1).long() + (action == 2).long()).clamp(0, SIDE - 1)
        beyond = old_column + right
        right = torch.where((beyond >= 0) & (beyond < SIDE), right, -right)
        down = torch.where(old_row + state["down"] < 0, 1, state["down"])
        row, column = old_row + down, old_column + right
        place = at(row)[:, :, None] & at(column)[:, None, :]
        hit = (place & (bricks > 0)).flatten(1).any(1)
        low = ~hit & (row == BOTTOM)
        over = low & (paddle != column) & (paddle != old_column)
        back = low & ~over
        # At a brick the ball stays and turns; at the paddle it keeps its row, and its column if the edge met it.
        moves = ~hit & ~back
        beside = back & (paddle != column)
        bricks = torch.where(hit[:, None, None] & place, 0, bricks)
        cleared = back & (bricks.flatten(1).sum(1) == 0)
        wall = self.wall(len(row), 0 if self.harder else FIRST, row.device)
        following = {
            "paddle": paddle,
            "row": torch.where(moves, row, old_row),
            "column": torch.where(moves | (back & ~beside), column, old_column),
            "down": torch.where(back, -1, torch.where(hit, -down, down)),
            "right": torch.where(beside, -right, right),
            "was_row": old_row,
            "was_column": old_column,
            "bricks": torch.where(cleared[:, None, None], wall, bricks),
        }
        return following, hit, over

    def planes(self, state: State) -> torch.Tensor:
        ground = at(torch.full_like(state["paddle"], BOTTOM))
        ball = at(state["row"])[:, :, None] & at(state["column"])[:, None, :]
        was = at(state["was_row"])[:, :, None] & at(state["was_column"])[:, None, :]
        return torch.stack(
            [ground[:, :, None] & at(state["paddle"])[:, None, :], ball, was, state["bricks"] > 0], dim=3
        )


class TensorLanes(TensorGrid):
    begin_draws = 3 * LANES
    step_draws = 1 + 3 * LANES

    def cars(self, draws: torch.Tensor, crossings: torch.Tensor) -> State:
        column, direction, pace = draws.view(-1, LANES, 3).unbind(2)
        slowest = torch.where(crossings >= LESS_SLOW_AFTER, SLOWEST - 1, SLOWEST) if self.harder else SLOWEST
        below = slowest[:, None] if isinstance(slowest, torch.Tensor) else slowest
        return {
            "car": whole(column, SIDE),
            "direction": 2 * whole(direction, 2) - 1,
            "pace": 1 + whole(pace, below),
        }

    def begin(self, draws: torch.Tensor) -> State:
        none = torch.zeros(len(draws), dtype=torch.long, device=draws.device)
        standing = {"action": none, "row": none + BOTTOM, "clock": none.clone(), "crossings": none.clone()}
        return standing | self.cars(draws, none)

    def play(self, state: State, action: torch.Tensor, draws: torch.Tensor) -> tuple[State, torch.Tensor, torch.Tensor]:
        clock = state["clock"] + 1
        row = (state["row"] - (action == 1).long() + (action == 2).long()).clamp(0, SIDE - 1)
        across = row == 0
        crossings = state["crossings"] + across.long()
        fresh = self.cars(draws, crossings)
        hit = self.meets(row, state["car"])
        goes = clock[:, None] % state["pace"] == 0
        car = torch.where(goes, (state["car"] + state["direction"]) % SIDE, state["car"])
        row = torch.where(across | hit | self.meets(row, car), BOTTOM, row)
        following = {
            "row": row,
            "clock": clock,
            "crossings": crossings,
            "car": torch.where(across[:, None], fresh["car"], car),
            "direction": torch.where(across[:, None], fresh["direction"], state["direction"]),
            "pace": torch.where(across[:, None], fresh["pace"], state["pace"]),
        }
        return following, across, torch.zeros_like(across)

    def meets(self, row: torch.Tensor, car: torch.Tensor) -> torch.Tensor:
        return (at(row)[:, 1 : SIDE - 1] & (car == COLUMN)).any(1)

    def planes(self, state: State) -> torch.Tensor:
        columns = torch.arange(SIDE, device=state["row"].device)
        player = at(state["row"])[:, :, None] & (columns == COLUMN)
        car = state["car"][:, :, None] == columns
        behind = ((state["car"] - state["direction"]) % SIDE)[:, :, None] == columns
        lanes = [car, *(behind & (state["pace"] == pace)[:, :, None] for pace in range(1, SLOWEST + 1))]
        edges = [torch.nn.functional.pad(lane, (0, 0, 1, 1)) for lane in lanes]
        return torch.stack([player, *edges], dim=3)
