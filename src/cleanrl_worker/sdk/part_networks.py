"""The first layers of a network that sees an observation by its parts: convolutions for pictures, grids and rows."""

from collections.abc import Sequence
from typing import Any, TypeVar

import gymnasium as gym
import numpy as np
import torch
from torch import nn

Layer = TypeVar("Layer", bound=nn.Conv1d | nn.Conv2d)


def orthogonal(layer: Layer) -> Layer:
    nn.init.orthogonal_(layer.weight, 2**0.5)
    nn.init.constant_(layer.bias, 0.0)  # type: ignore[arg-type]
    return layer


def convolutions(box: gym.spaces.Box[Any]) -> nn.Module:
    """Layers for a picture or a grid, its channels first or last, or for a row of cells; a vector stays as it is.

    Two dimensions are a row of cells where each has at most four numbers, and else a picture of one channel.
    """
    shape = (*box.shape, 1) if len(box.shape) == 2 and box.shape[1] > 4 else box.shape
    if len(shape) not in (2, 3):
        return nn.Flatten()
    channels_first = len(shape) == 3 and shape[0] < min(shape[1:])
    channels, sides = (shape[0], shape[1:]) if channels_first else (shape[-1], shape[:-1])
    convolution = nn.Conv1d if len(sides) == 1 else nn.Conv2d
    # Width, kernel and stride of each layer: those of the Atari network, and smaller ones for small grids.
    sizes = ((32, 8, 4), (64, 4, 2), (64, 3, 1)) if min(sides) >= 36 else ((16, 3, 1), (32, 3, 1))
    layers: list[nn.Module] = [Cells(box, shape, channels_first=channels_first)]
    for width, kernel, stride in sizes:
        padding = 1 if min(sides) < 5 else 0
        layers += [orthogonal(convolution(channels, width, kernel, stride, padding)), nn.ReLU()]
        channels = width
    return nn.Sequential(*layers, nn.Flatten())


class Cells(nn.Module):
    """Rows of numbers as pictures of numbers from 0 to 1, channels first."""

    least: torch.Tensor
    width: torch.Tensor

    def __init__(self, box: gym.spaces.Box[Any], shape: tuple[int, ...], *, channels_first: bool) -> None:
        super().__init__()
        self.shape, self.channels_first = shape, channels_first
        low, high = (torch.as_tensor(bound, dtype=torch.float32).flatten() for bound in (box.low, box.high))
        bounded = (high > low) & (high - low < 2**16)
        self.register_buffer("least", torch.where(bounded, low, 0.0), persistent=False)
        self.register_buffer("width", torch.where(bounded, high - low, 1.0), persistent=False)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        cells = ((rows - self.least) / self.width).unflatten(1, self.shape)
        return cells if self.channels_first else cells.movedim(-1, 1)


class Parts(nn.Module):
    """Each part of an observation through layers of its own; what these make stands side by side."""

    def __init__(self, boxes: Sequence[gym.spaces.Box[Any]]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(convolutions(box) for box in boxes)
        self.widths = [int(np.prod(box.shape)) for box in boxes]

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        parts = zip(self.layers, rows.split(self.widths, dim=1), strict=True)
        return torch.cat([layers(part) for layers, part in parts], dim=1)
