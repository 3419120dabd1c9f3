"""What an environment is as functions of tensors, and what steps many copies of it.

A state is a dict of tensors whose first dimension are the copies. Nothing here draws random numbers: `draws` are
uniform numbers from 0 to 1 that the caller hands over, a row for each copy, so that a whole rollout can be recorded as
one CUDA graph and a step can be repeated. Nothing branches on a value, for the same reason.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

State = dict[str, torch.Tensor]


class TensorTask(ABC):
    """One environment: the same steps as its Gymnasium namesake, in double precision where that has it."""

    time_limit: int | None = None
    """Steps after which an episode is cut."""
    begin_draws: int = 0
    step_draws: int = 0
    """Random numbers that the beginning of an episode, and a step, take."""

    @abstractmethod
    def begin(self, draws: torch.Tensor) -> State:
        """First states."""

    @abstractmethod
    def step(
        self, state: State, actions: torch.Tensor, draws: torch.Tensor
    ) -> tuple[State, torch.Tensor, torch.Tensor]:
        """Next states, rewards, and which episodes are over."""

    @abstractmethod
    def observe(self, state: State) -> torch.Tensor:
        """What an algorithm sees: a row of float32 for each copy."""

    @abstractmethod
    def picture_state(self, row: "Mapping[str, NDArray[Any]]") -> "Sequence[float] | NDArray[np.float64]":
        """Of one copy, what its family's `Twin` puts into an environment that is drawn."""

    def to(self, device: torch.device) -> None:
        """Move the tables of an environment that has some."""
        del device


class Episodes(NamedTuple):
    """Copies in the middle of their episodes."""

    state: State
    lengths: torch.Tensor
    totals: torch.Tensor
    """Steps and rewards so far, of the running episodes."""


class Outcome(NamedTuple):
    """What a step brought; `lengths` and `totals` are those of the episode that the step belongs to."""

    rewards: torch.Tensor
    terminations: torch.Tensor
    truncations: torch.Tensor
    last_obs: torch.Tensor
    """What the actions led to, also where the episode ended."""
    lengths: torch.Tensor
    totals: torch.Tensor


def first_episodes(task: TensorTask, draws: torch.Tensor) -> Episodes:
    state = task.begin(draws[:, task.step_draws :])
    copies = len(draws)
    return Episodes(
        state,
        torch.zeros(copies, dtype=torch.int32, device=draws.device),
        torch.zeros(copies, dtype=torch.float64, device=draws.device),
    )


def advance(
    task: TensorTask, episodes: Episodes, actions: torch.Tensor, draws: torch.Tensor
) -> tuple[Episodes, Outcome]:
    """One step of every copy; one whose episode ends begins the next (Gymnasium's AutoresetMode.SAME_STEP)."""
    state, rewards, terminations = task.step(episodes.state, actions, draws[:, : task.step_draws])
    lengths, totals = episodes.lengths + 1, episodes.totals + rewards
    truncations = torch.zeros_like(terminations) if task.time_limit is None else lengths >= task.time_limit
    outcome = Outcome(rewards, terminations, truncations, task.observe(state), lengths, totals)
    over = terminations | truncations
    fresh = task.begin(draws[:, task.step_draws :])
    goes_on = {name: _where(over, fresh[name], value) for name, value in state.items()}
    return Episodes(goes_on, lengths.masked_fill(over, 0), totals.masked_fill(over, 0.0)), outcome


def _where(over: torch.Tensor, fresh: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return torch.where(over.view(-1, *(1,) * (value.dim() - 1)), fresh, value)
