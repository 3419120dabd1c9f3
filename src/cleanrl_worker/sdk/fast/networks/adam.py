"""Adam and gradient-norm clipping on one flat parameter vector."""

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch

from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters, Floats
from cleanrl_worker.sdk.fast.operands import operand


class Moments:
    """Two vectors that an optimiser keeps of its gradients, and `names`, what they are called in a checkpoint."""

    names: ClassVar[tuple[str, str]]

    def __init__(self, flat: FlatParameters, *, eps: float = 1e-8, betas: tuple[float, float] = (0.9, 0.999)) -> None:
        self.flat = flat
        self._eps = eps
        self._beta1, self._beta2 = betas
        self._steps = 0
        # In torch's memory, which is aligned, as the values and the gradient.
        self._first: Floats = torch.zeros(flat.values.size).numpy()
        self._second: Floats = torch.zeros(flat.values.size).numpy()
        self._scratch: Floats = torch.zeros(flat.values.size).numpy()
        self._first_decay, self._second_decay = operand(self._beta1), operand(self._beta2)
        # Of one step; arrays, because numpy takes a Python float more slowly (`sdk/fast/operands.py`).
        self._step_size, self._step_eps = np.zeros((), np.float32), np.zeros((), np.float32)

    def state(self) -> dict[str, Floats | int]:
        """A copy of all that `load` needs to go on bit for bit."""
        first, second = self.names
        return {"steps": self._steps, first: self._first.copy(), second: self._second.copy()}

    def load(self, state: Mapping[str, Floats | int]) -> None:
        """Go on from a `state()` of a network with as many parameters."""
        for name, target in zip(self.names, (self._first, self._second), strict=True):
            if np.shape(state[name]) != target.shape:
                what = f"{type(self).__name__} state {name!r}"
                raise ValueError(f"{what} has shape {np.shape(state[name])}, the network {target.shape}")
            target[...] = state[name]
        self._steps = int(state["steps"])


class Adam(Moments):
    """`torch.optim.Adam` without weight decay, over whole vectors in place.

    The moments are kept as plain decayed sums, Σ βᵏ·g and Σ βᵏ·g², which are torch's averages without the factor
    (1 - β): that factor joins the scalars of a step, and two passes over the vector fall away.
    """

    names = ("gradient_sum", "square_sum")

    def step(self, learning_rate: float, *, max_norm: float | None = None) -> None:
        """Move the values against the flat gradient, which is first scaled down to `max_norm`."""
        clip(self.flat, max_norm)
        self._steps += 1
        gradient, first, second, scratch = self.flat.gradient, self._first, self._second, self._scratch
        np.multiply(first, self._first_decay, first)
        np.add(first, gradient, first)
        np.multiply(second, self._second_decay, second)
        np.multiply(gradient, gradient, scratch)
        np.add(second, scratch, second)
        scale = math.sqrt((1 - self._beta2**self._steps) / (1 - self._beta2))
        self._step_size[()] = learning_rate * (1 - self._beta1) / (1 - self._beta1**self._steps) * scale
        self._step_eps[()] = self._eps * scale
        np.sqrt(second, scratch)
        np.add(scratch, self._step_eps, scratch)
        np.divide(first, scratch, scratch)
        np.multiply(scratch, self._step_size, scratch)
        np.subtract(self.flat.values, scratch, self.flat.values)

    def moments(self) -> dict[str, dict[str, torch.Tensor]]:
        """The state of torch's Adam for each parameter; empty before the first step."""
        return moments_of(
            self.flat,
            self._steps,
            exp_avg=(1 - self._beta1) * self._first,
            exp_avg_sq=(1 - self._beta2) * self._second,
        )


def clip_gradient_norm(gradient: Floats, max_norm: float) -> float:
    """Scale `gradient` in place to at most `max_norm`, as `torch.nn.utils.clip_grad_norm_`; returns the norm before."""
    norm = math.sqrt(gradient.dot(gradient))
    coefficient = max_norm / (norm + 1e-6)
    # Written so that a NaN norm spreads, as in torch, instead of passing unnoticed.
    if not coefficient >= 1:
        np.multiply(gradient, coefficient, gradient)
    return norm


def clip(flat: FlatParameters, max_norm: float | None) -> None:
    """What an optimiser does first: scale the gradient down to `max_norm`, and show a watch both of them."""
    if flat.watch is not None:
        flat.watch.before_clip(flat.gradient)
    if max_norm is not None:
        clip_gradient_norm(flat.gradient, max_norm)
    if flat.watch is not None:
        flat.watch.after_clip(flat.gradient)


def moments_of(flat: FlatParameters, steps: int, **moments: Floats) -> dict[str, dict[str, torch.Tensor]]:
    """Flat moments as torch's optimisers keep them: by parameter, each with its count of steps."""
    if steps == 0:
        return {}
    parts = {name: flat.parts(vector) for name, vector in moments.items()}
    return {
        parameter: {
            "step": torch.tensor(float(steps)),
            **{name: torch.from_numpy(part[parameter].copy()) for name, part in parts.items()},
        }
        for parameter in flat.parameters
    }
