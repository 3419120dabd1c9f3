"""RAdam on one flat parameter vector."""

import math

import numpy as np
import torch

from cleanrl_worker.sdk.fast.networks.adam import Moments, clip, moments_of
from cleanrl_worker.sdk.fast.operands import operand


class RAdam(Moments):
    """`torch.optim.RAdam` without weight decay, over whole vectors in place.

    It is Adam that leaves out the division by the gradient's size until that is known well enough (the sixth step with
    the usual betas), and then scales the step by how well.
    """

    names = ("average", "square_average")

    def step(self, learning_rate: float, *, max_norm: float | None = None) -> None:
        """Move the values against the flat gradient, which is first scaled down to `max_norm`."""
        clip(self.flat, max_norm)
        self._steps += 1
        gradient, first, second, scratch = self.flat.gradient, self._first, self._second, self._scratch
        np.multiply(first, self._first_decay, first)
        np.multiply(gradient, operand(1 - self._beta1), scratch)
        np.add(first, scratch, first)
        np.multiply(second, self._second_decay, second)
        np.multiply(gradient, gradient, scratch)
        np.multiply(scratch, operand(1 - self._beta2), scratch)
        np.add(second, scratch, second)
        step_size = learning_rate / (1 - self._beta1**self._steps)
        remaining = 1 - self._beta2**self._steps
        longest = 2 / (1 - self._beta2) - 1
        length = longest - 2 * self._steps * (1 - remaining) / remaining
        if length > 5:
            known = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            np.sqrt(second, scratch)
            np.add(scratch, operand(self._eps), scratch)
            np.divide(first, scratch, scratch)
            self._step_size[()] = step_size * math.sqrt(remaining * known)
            np.multiply(scratch, self._step_size, scratch)
        else:
            self._step_size[()] = step_size
            np.multiply(first, self._step_size, scratch)
        np.subtract(self.flat.values, scratch, self.flat.values)

    def moments(self) -> dict[str, dict[str, torch.Tensor]]:
        """The state of torch's RAdam for each parameter; empty before the first step."""
        return moments_of(self.flat, self._steps, exp_avg=self._first, exp_avg_sq=self._second)
