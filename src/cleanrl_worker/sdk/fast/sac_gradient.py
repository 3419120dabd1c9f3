"""SAC's squashed Gaussian policy and its gradients by the network's outputs, written out by hand as CleanRL defines it.

With m and r the actor's two outputs, n standard normal noise, and s, b the scale and centre of the action space:
    log_std = low + (high - low)·(tanh(r) + 1)/2,  y = tanh(m + exp(log_std)·n),  action = s·y + b
    logprob = Σ [-n²/2 - log_std - log(2π)/2 - log(s·(1 - y²) + 1e-6)]   over the action's dimensions
"""

import math
from typing import NamedTuple

import numpy as np

from cleanrl_worker.sdk.fast.last_bits import disturbed
from cleanrl_worker.sdk.fast.networks.flat_parameters import Floats

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
_EPSILON = 1e-6


class Sample(NamedTuple):
    """Actions drawn, and what their gradient needs."""

    actions: Floats
    """(rows, k)."""
    logprob: Floats
    """(rows,)."""
    shift: Floats
    """exp(log_std)·n: how far each dimension is from the mean."""
    squashed: Floats
    """y."""
    slope: Floats
    """1 - y²."""
    room: Floats
    """s·(1 - y²) + 1e-6."""
    log_std_slope: Floats
    """The derivative of log_std by r."""


class SquashedGaussian:
    """The policy of one action space; all arrays are float32, those of a batch (rows, k)."""

    def __init__(self, scale: Floats, centre: Floats, *, log_std_range: tuple[float, float]) -> None:
        self.dimensions = len(scale)
        self._scale = scale
        self._centre = centre
        low, high = log_std_range
        self._log_std_centre = 0.5 * (low + high)
        self._log_std_reach = 0.5 * (high - low)
        self._ones = np.ones(self.dimensions, np.float32)
        self.last_bits: np.random.Generator | None = None
        """Where there is one, it disturbs the last bit of each y."""

    def mode(self, mean: Floats) -> Floats:
        """The action without noise."""
        return np.tanh(mean) * self._scale + self._centre

    def sample(self, mean: Floats, raw_log_std: Floats, *, noise: Floats) -> Sample:
        """Actions drawn with standard normal `noise`, and their log-probabilities."""
        bounded = np.tanh(raw_log_std)
        log_std = bounded * self._log_std_reach
        log_std += self._log_std_centre
        shift = np.exp(log_std)
        shift *= noise
        squashed = np.tanh(mean + shift)
        if self.last_bits is not None:
            squashed = disturbed(squashed, self.last_bits)
        slope = 1 - squashed * squashed
        room = slope * self._scale
        room += _EPSILON
        each = noise * noise
        each *= -0.5
        each -= log_std
        each -= np.log(room)
        logprob = each.dot(self._ones)
        logprob -= self.dimensions * _HALF_LOG_2PI
        actions = squashed * self._scale
        actions += self._centre
        log_std_slope = 1 - bounded * bounded
        log_std_slope *= self._log_std_reach
        return Sample(actions, logprob, shift, squashed, slope, room, log_std_slope)

    def backward(self, sample: Sample, grad_actions: Floats, grad_logprob: float) -> tuple[Floats, Floats]:
        """Gradients by `mean` and `raw_log_std`, from those by the actions and by every row's log-probability.

        The noise is held fixed, so (x - mean)/std = n has no gradient of its own.
        """
        grad_mean = sample.squashed / sample.room
        grad_mean *= 2 * grad_logprob
        grad_mean += grad_actions
        grad_mean *= self._scale
        grad_mean *= sample.slope
        grad_log_std = grad_mean * sample.shift
        grad_log_std -= grad_logprob
        grad_log_std *= sample.log_std_slope
        return grad_mean, grad_log_std
