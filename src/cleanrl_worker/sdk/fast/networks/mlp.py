"""Forward and backward passes in numpy for an `nn.Sequential` of linear layers with Tanh or ReLU between them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters, Floats, UnknownNetwork

_ZERO = np.zeros((), np.float32)


class Mlp:
    """The network `prefix` of the module behind `flat`; a batch is (rows, features) outside.

    Inside, activations are feature-major, (features + 1, rows) with a last row of ones, so that each product covers the
    bias, writes a contiguous result, and allocates nothing. Outputs are views of a buffer that the next call with as
    many rows overwrites; `infer` and `forward` have separate buffers.
    """

    def __init__(self, flat: FlatParameters, sequential: nn.Module, prefix: str) -> None:
        if type(sequential) is not nn.Sequential:
            raise UnknownNetwork(f"network {prefix!r} must be an nn.Sequential, not {type(sequential).__name__}")
        modules = list(sequential)
        activations = {type(module) for module in modules[1::2]}
        if len(modules) % 2 == 0 or not all(type(module) is nn.Linear for module in modules[::2]):
            raise UnknownNetwork(f"network {prefix!r} must be linear layers with one activation between each two")
        if len(activations) > 1 or not activations <= {nn.Tanh, nn.ReLU}:
            found = ", ".join(sorted(kind.__name__ for kind in activations))
            raise UnknownNetwork(f"network {prefix!r} must use Tanh alone or ReLU alone, not {found}")
        self._tanh = activations == {nn.Tanh}
        names = [name for name, module in sequential.named_children() if isinstance(module, nn.Linear)]
        self._weights = [flat.linear(f"{prefix}.{name}" if prefix else name) for name in names]
        self._inference: dict[tuple[int, ...], _Buffers] = {}
        self._training: dict[tuple[int, ...], _Buffers] = {}
        self._current: _Buffers | None = None

    def infer(self, x: NDArray[Any]) -> Floats:
        """Outputs for `x`, leaving alone what `backward` needs."""
        buffers = self._inference.get(x.shape)
        if buffers is None:
            buffers = self._inference[x.shape] = self._allocate(x.shape)
        return self._run(buffers, x)

    def forward(self, x: NDArray[Any]) -> Floats:
        """Outputs for `x`; keeps the activations for `backward`."""
        buffers = self._training.get(x.shape)
        if buffers is None:
            buffers = self._training[x.shape] = self._allocate(x.shape)
        self._current = buffers
        return self._run(buffers, x)

    def _run(self, buffers: "_Buffers", x: NDArray[Any]) -> Floats:
        buffers.inputs[...] = x
        for layer in buffers.hidden:
            output = layer.output
            layer.multiply(layer.input, output)
            if self._tanh:
                np.tanh(output, output)
            else:
                np.maximum(output, layer.zeros, out=output)
        last = buffers.last
        last.multiply(last.input, last.output)
        return buffers.outputs

    def backward(
        self, grad_out: Floats, *, input_gradient: bool = False, weight_gradient: bool = True
    ) -> Floats | None:
        """Overwrite this network's part of the flat gradient, from the loss's gradient by the last `forward`'s outputs.

        Returns the gradient by the inputs on request: an actor that climbs a critic needs that, and not the weights'.
        """
        buffers = self._current
        if buffers is None:
            raise ValueError("backward needs a forward before it")
        last = buffers.last
        if weight_gradient:
            last.input.dot(grad_out, last.weight_gradient)
        grad = last.weight.dot(grad_out.T, last.grad_input)
        for layer in reversed(buffers.hidden):
            output = layer.output
            if self._tanh:
                # (1 - h²)·g as g - h²·g: a scalar operand would cost more to convert than the arithmetic takes.
                scratch = layer.scratch
                np.multiply(output, output, scratch)
                np.multiply(scratch, grad, scratch)
                np.subtract(grad, scratch, grad)
            else:
                np.greater(output, _ZERO, layer.mask)
                np.multiply(grad, layer.mask, grad)
            if weight_gradient:
                layer.input.dot(grad.T, layer.weight_gradient)
            if input_gradient or layer is not buffers.hidden[0]:
                grad = layer.weight.dot(grad, layer.grad_input)
        return grad.T if input_gradient else None

    def _allocate(self, shape: tuple[int, ...]) -> "_Buffers":
        weights = self._weights
        if len(shape) != 2 or shape[1] != weights[0][0].shape[0] - 1:
            raise ValueError(f"a batch of shape {shape} does not fit: (rows, {weights[0][0].shape[0] - 1}) is needed")
        rows = shape[0]
        layers: list[_Layer] = []
        # In torch's memory, which is aligned.
        first = augmented = torch.ones(weights[0][0].shape[0], rows).numpy()
        for weight, gradient in weights:
            inputs, outputs = weight.shape[0] - 1, weight.shape[1]
            next_augmented = torch.ones(outputs + 1, rows).numpy()
            layers.append(
                _Layer(
                    multiply=weight.T.dot,
                    input=augmented,
                    output=next_augmented[:-1],
                    weight=weight[:-1],
                    weight_gradient=gradient,
                    grad_input=torch.empty(inputs, rows).numpy(),
                    scratch=torch.empty(outputs, rows).numpy(),
                    mask=np.empty((outputs, rows), np.bool_),
                    zeros=torch.zeros(outputs, rows).numpy(),
                )
            )
            augmented = next_augmented
        return _Buffers(inputs=first[:-1].T, hidden=layers[:-1], last=layers[-1], outputs=layers[-1].output.T)


@dataclass(slots=True)
class _Layer:
    """One linear layer and its buffers for one number of rows."""

    multiply: Callable[[Floats, Floats], Floats]
    """(in + 1, rows) to (out, rows): the bound `dot` of the transposed weights, bias included."""
    input: Floats
    output: Floats
    weight: Floats
    """(in, out), without the bias."""
    weight_gradient: Floats
    grad_input: Floats
    scratch: Floats
    mask: NDArray[np.bool_]
    zeros: Floats
    """Zeros shaped as the output: `np.maximum` is vectorised for two arrays, and 3 times slower against a scalar."""


@dataclass(slots=True)
class _Buffers:
    inputs: Floats
    """The (rows, features) view that a batch is copied into."""
    hidden: list[_Layer]
    last: _Layer
    outputs: Floats
