"""All parameters of a torch module in one float32 numpy vector, shared in memory with torch."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

Floats = NDArray[np.float32]


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
                raise ValueError(
                    f"parameter {name!r} is {parameter.dtype} on {parameter.device}; "
                    "flat parameters need float32 on the cpu: use the torch update instead"
                )
        transposed = {id(layer.weight) for layer in module.modules() if isinstance(layer, nn.Linear)}
        size = sum(parameter.numel() for parameter in parameters.values())
        # Allocated by torch, hence aligned: the order of a sum in MKL may depend on it, and with it the last bit.
        self.values: Floats = torch.empty(size).numpy()
        self.gradient: Floats = torch.zeros(size).numpy()
        self.value_of: dict[str, Floats] = {}
        self.gradient_of: dict[str, Floats] = {}
        self._start: dict[str, int] = {}
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
            raise ValueError(f"linear layer {name!r} has no bias; the numpy network needs one")
        block = slice(start, start + outputs * (inputs + 1))
        shape = (inputs + 1, outputs)
        return self.values[block].reshape(shape), self.gradient[block].reshape(shape)
