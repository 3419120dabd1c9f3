"""Environments that are a table of transitions: Gymnasium's FrozenLake, CliffWalking and Taxi, with their settings."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mosaic.envs.tensor.tensor_task import State, TensorTask


class TensorTable(TensorTask):
    """The table of the Gymnasium environment itself, so that no rule is written twice."""

    begin_draws = 1
    step_draws = 1

    def __init__(self, env: Any) -> None:
        table = env.unwrapped
        states, actions = len(table.P), len(table.P[0])
        most = max(len(ways) for of_state in table.P.values() for ways in of_state.values())
        reach = np.ones((states, actions, most))
        following = np.zeros((states, actions, most), np.int64)
        rewards = np.zeros((states, actions, most))
        over = np.zeros((states, actions, most), np.bool_)
        for state, of_state in table.P.items():
            for action, ways in of_state.items():
                chances, next_states, paid, ends = zip(*ways, strict=True)
                known = len(ways)
                # The last one gets what rounding leaves.
                reach[state, action, : known - 1] = np.cumsum(chances)[:-1]
                following[state, action, :known], rewards[state, action, :known] = next_states, paid
                over[state, action, :known] = ends
        self.states = states
        arrays: tuple[NDArray[Any], ...] = (reach, following, rewards, over)
        self._tables: list[torch.Tensor] = [torch.as_tensor(each) for each in arrays]
        self._first = torch.from_numpy(np.cumsum(np.asarray(table.initial_state_distrib, np.float64)))

    def to(self, device: torch.device) -> None:
        self._tables = [each.to(device) for each in self._tables]
        self._first = self._first.to(device)

    def begin(self, draws: torch.Tensor) -> State:
        state = torch.searchsorted(self._first, draws[:, 0].double().contiguous(), right=True)
        return {"state": state.clamp(max=self.states - 1), "action": torch.full_like(state, -1)}

    def step(
        self, state: State, actions: torch.Tensor, draws: torch.Tensor
    ) -> tuple[State, torch.Tensor, torch.Tensor]:
        reach, following, rewards, over = self._tables
        at = state["state"]
        way = (reach[at, actions] <= draws.double()).sum(1)
        place = (at, actions, way)
        return {"state": following[place], "action": actions}, rewards[place], over[place]

    def observe(self, state: State) -> torch.Tensor:
        return torch.nn.functional.one_hot(state["state"], self.states).float()

    def picture_state(self, row: Any) -> list[float]:
        return [float(row["state"]), float(row["action"])]
