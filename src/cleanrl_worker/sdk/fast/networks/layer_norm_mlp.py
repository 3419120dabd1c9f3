"""Forward and backward passes in numpy for linear layers with a layer norm and a ReLU behind each but the last.

With x a layer's output: h = (x - mean)/√(variance + eps) over its features, y = max(0, scale·h + shift).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters, Floats, UnknownNetwork


class LayerNormMlp:
    """The network `prefix` of the module behind `flat`: Linear, LayerNorm, ReLU, …, Linear.

    A batch is (rows, features) outside. Inside, activations are feature-major, (features + 1, rows) with a last row of
    ones, as in `Mlp`. Outputs are views of a buffer that the next call with as many rows overwrites; `infer` and
    `forward` have separate buffers.
    """

    def __init__(self, flat: FlatParameters, sequential: nn.Module, prefix: str) -> None:
        modules = list(sequential.children())
        if type(sequential) is not nn.Sequential or [type(module) for module in modules] != [
            nn.Linear,
            nn.LayerNorm,
            nn.ReLU,
        ] * (len(modules) // 3) + [nn.Linear]:
            raise UnknownNetwork(
                f"network {prefix!r} must be Linear, LayerNorm, ReLU, repeated, and a Linear at the end"
            )
        names = [name for name, _ in sequential.named_children()]
        self._weights = [flat.linear(f"{prefix}.{name}" if prefix else name) for name in names[::3]]
        self._norms = [
            _Norm.of(flat, f"{prefix}.{name}" if prefix else name, module)
            for name, module in zip(names, modules, strict=True)
            if isinstance(module, nn.LayerNorm)
        ]
        self._inference: dict[int, list[_Layer]] = {}
        self._training: dict[int, list[_Layer]] = {}
        self._current: list[_Layer] = []

    def infer(self, x: NDArray[Any]) -> Floats:
        """Outputs for `x`, leaving alone what `backward` needs."""
        return self._run(self._buffers(self._inference, len(x)), x)

    def forward(self, x: NDArray[Any]) -> Floats:
        """Outputs for `x`; keeps the activations for `backward`."""
        self._current = self._buffers(self._training, len(x))
        return self._run(self._current, x)

    def _run(self, layers: "list[_Layer]", x: NDArray[Any]) -> Floats:
        layers[0].input[:-1] = x.T
        for layer, norm in zip(layers, self._norms, strict=False):
            values = layer.output
            layer.weight_t.dot(layer.input, values)
            norm.forward(values, layer)
        last = layers[-1]
        last.weight_t.dot(last.input, last.output)
        return last.output.T

    def backward(self, grad_out: Floats) -> None:
        """Overwrite this network's part of the flat gradient, from the loss's by the last `forward`'s outputs."""
        if not self._current:
            raise ValueError("backward needs a forward before it")
        grad = grad_out.T
        for index in reversed(range(len(self._current))):
            layer = self._current[index]
            if index < len(self._norms):
                self._norms[index].backward(grad, layer)
            layer.input.dot(grad.T, layer.weight_gradient)
            if index:
                grad = layer.weight.dot(grad)

    def _buffers(self, known: "dict[int, list[_Layer]]", rows: int) -> "list[_Layer]":
        if rows not in known:
            known[rows] = self._allocate(rows)
        return known[rows]

    def _allocate(self, rows: int) -> "list[_Layer]":
        layers: list[_Layer] = []
        # In torch's memory, which is aligned, as in `Mlp`.
        inputs = torch.ones(len(self._weights[0][0]), rows).numpy()
        for weight, gradient in self._weights:
            following = torch.ones(weight.shape[1] + 1, rows).numpy()
            layers.append(
                _Layer(
                    input=inputs,
                    output=following[:-1],
                    weight=weight[:-1],
                    weight_t=weight.T,
                    weight_gradient=gradient,
                    centred=torch.empty(weight.shape[1], rows).numpy(),
                    deviation=torch.empty(rows).numpy(),
                )
            )
            inputs = following
        return layers


@dataclass(slots=True)
class _Layer:
    """One linear layer and its buffers for one number of rows."""

    input: Floats
    """(in + 1, rows)."""
    output: Floats
    """(out, rows), before the norm and then behind the ReLU."""
    weight: Floats
    """(in, out), without the bias."""
    weight_t: Floats
    """(out, in + 1)."""
    weight_gradient: Floats
    centred: Floats
    """h: what the norm made of the output, before scale and shift."""
    deviation: Floats
    """(rows,)."""


@dataclass(slots=True)
class _Norm:
    scale: Floats
    """(features, 1), as the shift."""
    shift: Floats
    scale_gradient: Floats
    """(features,), as the shift's."""
    shift_gradient: Floats
    average: Floats
    """1/features, as often: a product with it is a mean."""
    eps: float

    @classmethod
    def of(cls, flat: FlatParameters, name: str, module: nn.LayerNorm) -> "_Norm":
        scale, shift = flat.value_of[f"{name}.weight"], flat.value_of[f"{name}.bias"]
        gradients = flat.gradient_of[f"{name}.weight"], flat.gradient_of[f"{name}.bias"]
        average = np.full(len(scale), 1 / len(scale), np.float32)
        return cls(scale[:, None], shift[:, None], *gradients, average, module.eps)

    def forward(self, values: Floats, layer: _Layer) -> None:
        """`values`, normalised in place and behind the ReLU."""
        centred = layer.centred
        np.subtract(values, self.average.dot(values), centred)
        np.multiply(centred, centred, values)
        np.sqrt(self.average.dot(values) + self.eps, layer.deviation)
        np.divide(centred, layer.deviation, centred)
        np.multiply(centred, self.scale, values)
        np.add(values, self.shift, values)
        np.maximum(values, 0, out=values)

    def backward(self, grad: Floats, layer: _Layer) -> None:
        """Turn `grad`, by what `forward` left, into the one by what it was given; write those of scale and shift."""
        centred = layer.centred
        np.multiply(grad, layer.output > 0, grad)
        np.add.reduce(grad, 1, out=self.shift_gradient)
        np.add.reduce(grad * centred, 1, out=self.scale_gradient)
        np.multiply(grad, self.scale, grad)
        along = self.average.dot(grad * centred)
        np.subtract(grad, self.average.dot(grad), grad)
        np.subtract(grad, centred * along, grad)
        np.divide(grad, layer.deviation, grad)
