"""Gymnasium's CartPole, MountainCar (both) and Pendulum as functions of tensors."""

import math
from typing import Any

import torch

from mosaic.envs.tensor.tensor_task import State, TensorTask

NO_TORQUE = math.nan
"""In a picture's state, where nothing was done yet or there is no torque."""


def between(draws: torch.Tensor, low: float, high: float) -> torch.Tensor:
    """Uniform numbers in double precision, a row for each variable."""
    return (low + (high - low) * draws.double()).t()


class TensorCartPole(TensorTask):
    begin_draws = 4

    def __init__(self, *, sutton_barto_reward: bool = False) -> None:
        self.minus_one_at_the_end = sutton_barto_reward

    def begin(self, draws: torch.Tensor) -> State:
        x, speed, angle, turn = between(draws, -0.05, 0.05)
        return {"x": x, "speed": speed, "angle": angle, "turn": turn}

    def step(
        self, state: State, actions: torch.Tensor, draws: torch.Tensor
    ) -> tuple[State, torch.Tensor, torch.Tensor]:
        del draws
        x, speed, angle, turn = state["x"], state["speed"], state["angle"], state["turn"]
        mass, pole_mass, length, tau = 1.1, 0.1, 0.5, 0.02
        moment = pole_mass * length
        cos, sin = angle.cos(), angle.sin()
        force = actions * 20.0 - 10.0
        push = (force + moment * (turn * turn) * sin) / mass
        turn_change = (9.8 * sin - cos * push) / (length * (4.0 / 3.0 - pole_mass * (cos * cos) / mass))
        speed_change = push - moment * turn_change * cos / mass
        x, speed = x + tau * speed, speed + tau * speed_change
        angle, turn = angle + tau * turn, turn + tau * turn_change
        over = (x.abs() > 2.4) | (angle.abs() > 12 * 2 * math.pi / 360)
        rewards = -over.double() if self.minus_one_at_the_end else torch.ones_like(x)
        return {"x": x, "speed": speed, "angle": angle, "turn": turn}, rewards, over

    def observe(self, state: State) -> torch.Tensor:
        return torch.stack([state["x"], state["speed"], state["angle"], state["turn"]], dim=1).float()

    def picture_state(self, row: Any) -> list[float]:
        return [row["x"], row["speed"], row["angle"], row["turn"], NO_TORQUE]


class TensorMountainCar(TensorTask):
    begin_draws = 1

    def __init__(self, *, goal_velocity: float = 0) -> None:
        self.goal_velocity = goal_velocity

    def begin(self, draws: torch.Tensor) -> State:
        (position,) = between(draws, -0.6, -0.4)
        return {"position": position, "velocity": torch.zeros_like(position)}

    def step(
        self, state: State, actions: torch.Tensor, draws: torch.Tensor
    ) -> tuple[State, torch.Tensor, torch.Tensor]:
        del draws
        position, velocity = state["position"], state["velocity"]
        velocity = velocity + ((actions - 1).double() * 0.001 + (3 * position).cos() * -0.0025)
        velocity = velocity.clamp(-0.07, 0.07)
        position = (position + velocity).clamp(-1.2, 0.6)
        velocity = torch.where((position == -1.2) & (velocity < 0), 0.0, velocity)
        over = (position >= 0.5) & (velocity >= self.goal_velocity)
        return {"position": position, "velocity": velocity}, torch.full_like(position, -1.0), over

    def observe(self, state: State) -> torch.Tensor:
        return torch.stack([state["position"], state["velocity"]], dim=1).float()

    def picture_state(self, row: Any) -> list[float]:
        return [row["position"], row["velocity"], NO_TORQUE]


class TensorMountainCarContinuous(TensorMountainCar):
    """Gymnasium keeps the state of this one in single precision."""

    def begin(self, draws: torch.Tensor) -> State:
        return {name: value.float() for name, value in super().begin(draws).items()}

    def step(
        self, state: State, actions: torch.Tensor, draws: torch.Tensor
    ) -> tuple[State, torch.Tensor, torch.Tensor]:
        del draws
        position, velocity, push = state["position"], state["velocity"], actions[:, 0]
        slope = (0.0025 * (3 * position).double().cos()).float()
        velocity = velocity + (push.clamp(-1.0, 1.0) * 0.0015 - slope)
        velocity = velocity.clamp(-0.07, 0.07)
        position = (position + velocity).clamp(-1.2, 0.6)
        velocity = torch.where((position <= -1.2) & (velocity < 0), 0.0, velocity)
        over = (position >= 0.45) & (velocity >= self.goal_velocity)
        rewards = 100.0 * over - push.double() ** 2 * 0.1
        return {"position": position, "velocity": velocity}, rewards, over


class TensorPendulum(TensorTask):
    begin_draws = 2

    def __init__(self, *, g: float = 10.0) -> None:
        self.gravity = g

    def begin(self, draws: torch.Tensor) -> State:
        angle, turn = between(draws, -1.0, 1.0)
        return {"angle": angle * math.pi, "turn": turn, "torque": torch.full_like(turn, NO_TORQUE)}

    def step(
        self, state: State, actions: torch.Tensor, draws: torch.Tensor
    ) -> tuple[State, torch.Tensor, torch.Tensor]:
        del draws
        angle, turn = state["angle"], state["turn"]
        # In the precision of the actions, as Gymnasium has it.
        torque = actions[:, 0].clamp(-2.0, 2.0)
        off = torch.remainder(angle + math.pi, 2 * math.pi) - math.pi
        costs = off**2 + 0.1 * turn**2 + (0.001 * torque**2).double()
        turn = turn + (3 * self.gravity / 2 * angle.sin() + (3.0 * torque).double()) * 0.05
        turn = turn.clamp(-8.0, 8.0)
        angle = angle + turn * 0.05
        return (
            {"angle": angle, "turn": turn, "torque": torque.double()},
            -costs,
            torch.zeros_like(turn, dtype=torch.bool),
        )

    def observe(self, state: State) -> torch.Tensor:
        angle = state["angle"]
        return torch.stack([angle.cos(), angle.sin(), state["turn"]], dim=1).float()

    def picture_state(self, row: Any) -> list[float]:
        return [row["angle"], row["turn"], row["torque"]]
