"""Forward and backward passes for wide ReLU networks: torch's kernels on numpy's memory, and no autograd.

From some hundred units on the time goes into the products of matrices, which torch (MKL) and numpy (OpenBLAS) compute
at the same rate. What can be saved is the rest: torch's element-wise kernels take a third of numpy's time on a hidden
layer, numpy's products with a head of few outputs a fifth of torch's, and a gradient that is never read need not be
computed. `Mlp` is quicker for small networks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from cleanrl_worker.sdk.fast.networks.flat_parameters import Floats, UnknownNetwork

_mask_by_relu = cast(Any, torch.ops.aten.threshold_backward.grad_input)
"""(gradient, activation, 0, grad_input=out): the gradient where the activation is above 0; torch has no public name."""


class ReluNetwork:
    """Linear layers with a ReLU behind each, and one or more linear heads on the last of them.

    The layers' parameters must be views of `FlatParameters`; gradients overwrite what was there. A batch is (rows,
    features), outputs are views of buffers that the next `forward` with as many rows overwrites: of this network, or of
    one of the same shape that `shares` them. Fewer buffers stay in the cache, which makes the products up to a fifth
    faster; for the same reason gradients on the way back take memory anew, the block that was freed last.
    """

    def __init__(
        self, hidden: Sequence[nn.Linear], heads: Sequence[nn.Linear], *, shares: "ReluNetwork | None" = None
    ) -> None:
        self._hidden = [_Layer.of(layer) for layer in hidden]
        self._heads = [_Head.of(layer) for layer in heads]
        self._all_buffers: dict[int, _Buffers] = {} if shares is None else shares._all_buffers
        self._buffers: _Buffers | None = None

    def forward(self, *parts: NDArray[Any]) -> list[Floats]:
        """The heads' outputs for inputs given as blocks of columns; keeps the activations for the gradients."""
        rows = len(parts[0])
        buffers = self._all_buffers.get(rows)
        if buffers is None:
            buffers = self._all_buffers[rows] = self._allocate(rows)
        self._buffers = buffers
        start = 0
        for part in parts:
            stop = start + part.shape[1]
            buffers.inputs[:, start:stop] = part
            start = stop
        layer_input = buffers.activations[0]
        for layer, activation in zip(self._hidden, buffers.activations[1:], strict=True):
            torch.addmm(layer.bias, layer_input, layer.weight_t, out=activation).relu_()
            layer_input = activation
        for head, output in zip(self._heads, buffers.outputs, strict=True):
            np.dot(buffers.features, head.weight.T, output)
            output += head.bias
        return buffers.outputs

    def backward(self, *grad_outputs: Floats) -> None:
        """Write the parameters' gradients, from the loss's gradient by each output of the last `forward`."""
        buffers = self._last()
        for head, grad in zip(self._heads, grad_outputs, strict=True):
            np.dot(buffers.features.T, grad, head.weight_gradient_t)
            np.add.reduce(grad, 0, out=head.bias_gradient)
        grad = self._through_heads(grad_outputs)
        for index in reversed(range(len(self._hidden))):
            layer = self._hidden[index]
            _mask_by_relu(grad, buffers.activations[index + 1], 0, grad_input=grad)
            torch.mm(buffers.activations[index].t(), grad, out=layer.weight_gradient_t)
            torch.sum(grad, 0, out=layer.bias_gradient)
            if index:
                grad = torch.mm(grad, layer.weight)

    def input_gradient(self, *grad_outputs: Floats, columns: slice, rows: NDArray[np.int64] | None = None) -> Floats:
        """The loss's gradient by some columns of the inputs, for all or some rows of the last `forward`.

        `grad_outputs` have these rows only. No parameter's gradient is touched.
        """
        buffers = self._last()
        chosen = None if rows is None else torch.from_numpy(rows)
        grad = self._through_heads(grad_outputs)
        for index in reversed(range(len(self._hidden))):
            activation = buffers.activations[index + 1]
            _mask_by_relu(
                grad, activation if chosen is None else activation.index_select(0, chosen), 0, grad_input=grad
            )
            if index:
                grad = torch.mm(grad, self._hidden[index].weight)
        return grad.numpy().dot(self._hidden[0].weight[:, columns].numpy())

    def _through_heads(self, grad_outputs: Sequence[Floats]) -> torch.Tensor:
        total = torch.empty(len(grad_outputs[0]), self._heads[0].weight.shape[1])
        array = total.numpy()
        np.dot(grad_outputs[0], self._heads[0].weight, array)
        for head, grad in zip(self._heads[1:], grad_outputs[1:], strict=True):
            array += grad.dot(head.weight)
        return total

    def _last(self) -> "_Buffers":
        if self._buffers is None:
            raise ValueError("a gradient needs a forward before it")
        return self._buffers

    def _allocate(self, rows: int) -> "_Buffers":
        # In torch's memory, which is aligned: MKL may order a sum by where its operands lie, and in numpy's a resumed
        # run would come to differ from an uninterrupted one in the last bit.
        widths = [self._hidden[0].weight.shape[1], *(layer.weight.shape[0] for layer in self._hidden)]
        activations = [torch.empty(rows, width) for width in widths]
        return _Buffers(
            activations=activations,
            inputs=activations[0].numpy(),
            features=activations[-1].numpy(),
            outputs=[np.empty((rows, len(head.weight)), np.float32) for head in self._heads],
        )


def layers_of(module: nn.Module, *names: str) -> list[nn.Linear]:
    """The linear layers of a module that has these and no others."""
    found = dict(module.named_children())
    layers = [layer for name in names if type(layer := found.get(name)) is nn.Linear]
    if set(found) != set(names) or len(layers) != len(names):
        has = ", ".join(f"{name} ({type(layer).__name__})" for name, layer in found.items())
        raise UnknownNetwork(f"{type(module).__name__} has {has}, not just the linear layers {', '.join(names)}")
    if any(layer.bias is None for layer in layers):  # pyright: ignore[reportUnnecessaryComparison]
        raise UnknownNetwork(f"{type(module).__name__} has a layer without a bias")
    return layers


def critic_of(critic: nn.Module, *, shares: ReluNetwork | None = None) -> ReluNetwork:
    """A critic whose parameters are flat."""
    fc1, fc2, fc3 = layers_of(critic, "fc1", "fc2", "fc3")
    return ReluNetwork([fc1, fc2], [fc3], shares=shares)


@dataclass(slots=True)
class _Layer:
    weight: torch.Tensor
    """(out, in), as `nn.Linear` has it."""
    weight_t: torch.Tensor
    bias: torch.Tensor
    weight_gradient_t: torch.Tensor
    bias_gradient: torch.Tensor

    @classmethod
    def of(cls, layer: nn.Linear) -> "_Layer":
        if layer.weight.grad is None or layer.bias.grad is None:
            raise ValueError(f"{layer} has no room for gradients: make FlatParameters of its module first")
        weight = layer.weight.detach()
        return cls(weight, weight.t(), layer.bias.detach(), layer.weight.grad.t(), layer.bias.grad)


@dataclass(slots=True)
class _Head:
    weight: Floats
    """(out, in)."""
    bias: Floats
    weight_gradient_t: Floats
    bias_gradient: Floats

    @classmethod
    def of(cls, layer: nn.Linear) -> "_Head":
        tensors = _Layer.of(layer)
        gradients = tensors.weight_gradient_t.numpy(), tensors.bias_gradient.numpy()
        return cls(tensors.weight.numpy(), tensors.bias.numpy(), *gradients)


@dataclass(slots=True)
class _Buffers:
    activations: list[torch.Tensor]
    """The inputs, then the output of each hidden layer."""
    inputs: Floats
    """The first of them."""
    features: Floats
    """The last of them, which the heads read."""
    outputs: list[Floats]
