"""All parameters of a torch module in one float32 numpy vector, shared in memory with torch."""

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

Floats = NDArray[np.float32]


class UnknownNetwork(ValueError):
    """A fast path does not know this network; the run trains by the loss."""


class FlatParameters:
    """One vector of values and one of gradients behind every parameter of `module`, in `named_parameters` order.

    Each `parameter.data` and `parameter.grad` becomes a view: what numpy writes torch sees, and the other way round,
    through `load_state_dict` and `loss.backward()` too (which adds: zero `gradient` first).
    What replaces a tensor instead of writing into it ends the sharing: `module.to(...)`,
    `load_state_dict(assign=True)`, `zero_grad()` with its default `set_to_none=True`.

    The weight of an `nn.Linear` is stored transposed. With its bias behind it, this makes the layer one contiguous
    (in + 1, out) matrix: a forward pass on inputs that end in a 1 is a single product without a separate bias, and its
    gradient is a single product too. So the torch weight is a view that is not contiguous: clone before safetensors.
    """

    def __init__(self, module: nn.Module) -> None:
        parameters = dict(module.named_parameters())
        for name, parameter in parameters.items():
            if parameter.dtype != torch.float32 or parameter.device.type != "cpu":
                raise UnknownNetwork(
                    f"parameter {name!r} is {parameter.dtype} on {parameter.device}; "
                    "flat parameters need float32 on the cpu: use the torch update instead"
                )
        transposed = {id(layer.weight) for layer in module.modules() if isinstance(layer, nn.Linear)}
        size = sum(parameter.numel() for parameter in parameters.values())
        # Allocated by torch, hence aligned: the order of a sum in MKL may depend on it, and with it the last bit.
        self.parameters = parameters
        self.watch: GradientWatch | None = None
        """Notes what the optimiser is given, while the path is compared with another."""
        self.values: Floats = torch.empty(size).numpy()
        self.gradient: Floats = torch.zeros(size).numpy()
        self.value_of: dict[str, Floats] = {}
        self.gradient_of: dict[str, Floats] = {}
        self._start: dict[str, int] = {}
        self._transposed = [id(parameter) in transposed for parameter in parameters.values()]
        start = 0
        for name, parameter in parameters.items():
            block = slice(start, start + parameter.numel())
            shape = tuple(parameter.shape)
            value, gradient = (
                vector[block].reshape(shape[::-1]).T if id(parameter) in transposed else vector[block].reshape(shape)
                for vector in (self.values, self.gradient)
            )
            value[...] = parameter.detach().numpy()
            parameter.data = torch.from_numpy(value)
            parameter.grad = torch.from_numpy(gradient)
            self.value_of[name], self.gradient_of[name], self._start[name] = value, gradient, start
            start = block.stop

    def linear(self, name: str) -> tuple[Floats, Floats]:
        """Values and gradient of the linear layer `name`, each an (in + 1, out) matrix with the bias as last row."""
        outputs, inputs = self.value_of[f"{name}.weight"].shape
        start = self._start[f"{name}.weight"]
        if self._start.get(f"{name}.bias") != start + outputs * inputs:
            raise UnknownNetwork(f"linear layer {name!r} has no bias; the numpy network needs one")
        block = slice(start, start + outputs * (inputs + 1))
        shape = (inputs + 1, outputs)
        return self.values[block].reshape(shape), self.gradient[block].reshape(shape)

    def parts(self, vector: Floats) -> dict[str, Floats]:
        """A vector laid out as `values`, cut into one view for each parameter, in its shape."""
        parts: dict[str, Floats] = {}
        for (name, parameter), transposed in zip(self.parameters.items(), self._transposed, strict=True):
            block = vector[self._start[name] : self._start[name] + parameter.numel()]
            shape = tuple(parameter.shape)
            parts[name] = block.reshape(shape[::-1]).T if transposed else block.reshape(shape)
        return parts


class GradientStep(NamedTuple):
    """What one step of an optimiser was given."""

    raw: Floats
    """The loss's gradient."""
    given: Floats
    """The same, of the length that a watch wants: what a clip was given."""
    clipped: Floats
    """What the optimiser took."""


class GradientWatch:
    """Notes every step of an optimiser. With a `norm`, each gradient is first scaled to that norm."""

    def __init__(self, norm: float | None = None) -> None:
        self._norm = norm
        self.steps: list[GradientStep] = []

    def before_clip(self, gradient: Floats) -> None:
        raw = gradient.copy()
        length = math.sqrt(gradient.dot(gradient))
        if self._norm is not None and length > 0:
            gradient *= np.float32(self._norm / length)
        self.steps.append(GradientStep(raw, gradient.copy(), gradient.copy()))

    def after_clip(self, gradient: Floats) -> None:
        self.steps[-1].clipped[...] = gradient


@contextmanager
def apart(flats: Sequence[FlatParameters]) -> Generator[None]:
    """Give every parameter memory of its own, with the values of now; in the end it has the shared memory again."""
    shared = [(parameter, parameter.data, parameter.grad) for flat in flats for parameter in flat.parameters.values()]
    for parameter, data, _ in shared:
        parameter.data, parameter.grad = data.clone(memory_format=torch.contiguous_format), None
    try:
        yield
    finally:
        for parameter, data, gradient in shared:
            parameter.data, parameter.grad = data, gradient
