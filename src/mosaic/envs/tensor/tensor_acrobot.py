"""Gymnasium's Acrobot as functions of tensors: two links, one torque between them, a Runge-Kutta step."""

import math
from typing import Any

import torch

from mosaic.envs.tensor.tensor_control import NO_TORQUE, between
from mosaic.envs.tensor.tensor_task import State, TensorTask

NAMES = ("angle1", "angle2", "turn1", "turn2")
STEP_S = 0.2
FASTEST = (4 * math.pi, 9 * math.pi)
Four = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


class TensorAcrobot(TensorTask):
    begin_draws = 4

    def begin(self, draws: torch.Tensor) -> State:
        # Gymnasium rounds first states to single precision.
        return dict(zip(NAMES, between(draws, -0.1, 0.1).float().double(), strict=True))

    def step(
        self, state: State, actions: torch.Tensor, draws: torch.Tensor
    ) -> tuple[State, torch.Tensor, torch.Tensor]:
        del draws
        torque = actions - 1.0
        y: Four = (state["angle1"], state["angle2"], state["turn1"], state["turn2"])
        k1 = _rates(y, torque)
        k2 = _rates(_along(y, STEP_S / 2, k1), torque)
        k3 = _rates(_along(y, STEP_S / 2, k2), torque)
        k4 = _rates(_along(y, STEP_S, k3), torque)
        mean = tuple((a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True))
        angle1, angle2, turn1, turn2 = _along(y, STEP_S, mean)  # type: ignore[arg-type]
        angle1, angle2 = _wrapped(angle1), _wrapped(angle2)
        turn1, turn2 = turn1.clamp(-FASTEST[0], FASTEST[0]), turn2.clamp(-FASTEST[1], FASTEST[1])
        over = -angle1.cos() - (angle2 + angle1).cos() > 1.0
        following = {"angle1": angle1, "angle2": angle2, "turn1": turn1, "turn2": turn2}
        return following, over.double() - 1.0, over

    def observe(self, state: State) -> torch.Tensor:
        one, two = state["angle1"], state["angle2"]
        return torch.stack([one.cos(), one.sin(), two.cos(), two.sin(), state["turn1"], state["turn2"]], dim=1).float()

    def picture_state(self, row: Any) -> list[float]:
        return [*(row[name] for name in NAMES), NO_TORQUE]


def _rates(y: Four, torque: torch.Tensor) -> Four:
    """How fast both angles and both speeds change (Sutton and Barto's book, with both masses and lengths 1)."""
    angle1, angle2, turn1, turn2 = y
    cos, sin = angle2.cos(), angle2.sin()
    # A link's centre of mass lies in its middle, and its moment of inertia is 1.
    d1 = 0.25 + (1.25 + cos) + 2.0
    d2 = 0.25 + 0.5 * cos + 1.0
    phi2 = 0.5 * 9.8 * (angle1 + angle2 - math.pi / 2.0).cos()
    phi1 = -0.5 * turn2**2 * sin - turn2 * turn1 * sin + 1.5 * 9.8 * (angle1 - math.pi / 2).cos() + phi2
    change2 = (torque + d2 / d1 * phi1 - 0.5 * turn1**2 * sin - phi2) / (1.25 - d2**2 / d1)
    return turn1, turn2, -(d2 * change2 + phi1) / d1, change2


def _along(y: Four, seconds: float, rates: Four) -> Four:
    a, b, c, d = (value + seconds * rate for value, rate in zip(y, rates, strict=True))
    return a, b, c, d


def _wrapped(angle: torch.Tensor) -> torch.Tensor:
    """Between -π and π: a link turns less than once in a step."""
    angle = torch.where(angle > math.pi, angle - 2 * math.pi, angle)
    return torch.where(angle < -math.pi, angle + 2 * math.pi, angle)
