"""Adam and gradient-norm clipping on one flat parameter vector."""

import math
from collections.abc import Mapping

import numpy as np

from cleanrl_worker.sdk.fast.flat import FlatParameters, Floats


class Adam:
    """`torch.optim.Adam` without weight decay, over whole vectors in place.

    The moments are kept as plain decayed sums, Σ βᵏ·g and Σ βᵏ·g², which are torch's averages without the factor
    (1 - β): that factor joins the scalars of a step, and two passes over the vector fall away.
    """

    def __init__(self, flat: FlatParameters, *, eps: float = 1e-8, betas: tuple[float, float] = (0.9, 0.999)) -> None:
        self._flat = flat
        self._eps = eps
        self._beta1, self._beta2 = betas
        self._steps = 0
        self._gradient_sum: Floats = np.zeros_like(flat.values)
        self._square_sum: Floats = np.zeros_like(flat.values)
        self._scratch: Floats = np.empty_like(flat.values)

    def step(self, learning_rate: float) -> None:
        """Move the values against the flat gradient."""
        self._steps += 1
        gradient, first, second, scratch = self._flat.gradient, self._gradient_sum, self._square_sum, self._scratch
        np.multiply(first, self._beta1, first)
        np.add(first, gradient, first)
        np.multiply(second, self._beta2, second)
        np.multiply(gradient, gradient, scratch)
        np.add(second, scratch, second)
        scale = math.sqrt((1 - self._beta2**self._steps) / (1 - self._beta2))
        step_size = learning_rate * (1 - self._beta1) / (1 - self._beta1**self._steps) * scale
        np.sqrt(second, scratch)
        np.add(scratch, self._eps * scale, scratch)
        np.divide(first, scratch, scratch)
        np.multiply(scratch, step_size, scratch)
        np.subtract(self._flat.values, scratch, self._flat.values)

    def state(self) -> dict[str, Floats | int]:
        """A copy of all that `load` needs to go on bit for bit."""
        return {"steps": self._steps, "gradient_sum": self._gradient_sum.copy(), "square_sum": self._square_sum.copy()}

    def load(self, state: Mapping[str, Floats | int]) -> None:
        """Go on from a `state()` of a network with as many parameters."""
        for name, target in (("gradient_sum", self._gradient_sum), ("square_sum", self._square_sum)):
            if np.shape(state[name]) != target.shape:
                raise ValueError(f"Adam state {name!r} has shape {np.shape(state[name])}, the network {target.shape}")
            target[...] = state[name]
        self._steps = int(state["steps"])


def clip_gradient_norm(gradient: Floats, max_norm: float) -> float:
    """Scale `gradient` in place to at most `max_norm`, as `torch.nn.utils.clip_grad_norm_`; returns the norm before."""
    norm = math.sqrt(gradient.dot(gradient))
    coefficient = max_norm / (norm + 1e-6)
    # Written so that a NaN norm spreads, as in torch, instead of passing unnoticed.
    if not coefficient >= 1:
        np.multiply(gradient, coefficient, gradient)
    return norm
