"""PPO's losses and their gradients by the network outputs, written out by hand as CleanRL defines them.

The whole loss is `policy_loss - ent_coef * entropy + vf_coef * value_loss`, each a mean over the minibatch; every
gradient here is that of the whole loss. All arrays are float32, but for integer actions. A batch is (rows, k); the
outputs of `Mlp` are feature-major in memory, and these functions are quickest in that order.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.sdk.fast.networks.flat_parameters import Floats
from cleanrl_worker.sdk.fast.operands import operand

_LOGGED: tuple[str, ...] = ("policy_loss", "entropy", "old_approx_kl", "approx_kl", "clipfrac")
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class Surrogate(NamedTuple):
    """The clipped policy objective of a minibatch."""

    grad_logprob: Floats
    policy_loss: float
    old_approx_kl: float
    approx_kl: float
    clipfrac: float


class CategoricalResult(NamedTuple):
    """Gradient and diagnostics of a categorical policy."""

    grad_logits: Floats
    policy_loss: float
    entropy: float
    old_approx_kl: float
    approx_kl: float
    clipfrac: float

    def logged(self) -> dict[str, float]:
        return dict(zip(_LOGGED, self[1:], strict=True))


class GaussianResult(NamedTuple):
    """Gradients and diagnostics of a diagonal Gaussian policy."""

    grad_mean: Floats
    grad_logstd: Floats
    policy_loss: float
    entropy: float
    old_approx_kl: float
    approx_kl: float
    clipfrac: float

    def logged(self) -> dict[str, float]:
        return dict(zip(_LOGGED, self[2:], strict=True))


def categorical(
    logits: Floats,
    actions: NDArray[np.integer[Any]],
    old_logprob: Floats,
    advantages: Floats,
    *,
    clip_coef: float,
    ent_coef: float,
    last_bits: np.random.Generator | None = None,
) -> CategoricalResult:
    """Policy and entropy loss of `logits` (rows, k), differentiated by them.

    `last_bits` disturbs those of the probabilities: of a sure policy little is left of 1 - p, and how much of it is
    rounding must be known before two paths are called different.
    """
    columns, rows = np.ascontiguousarray(logits.T), len(logits)
    logprobs = _log_softmax(columns)
    probabilities = np.exp(logprobs)
    if last_bits is not None:
        probabilities *= 1 + np.float32(2**-23) * last_bits.standard_normal(probabilities.shape, dtype=np.float32)
    negative_entropy = _ones(len(columns)).dot(probabilities * logprobs)
    chosen = actions * _whole(rows) + _range(rows)
    policy = surrogate(logprobs.reshape(-1)[chosen], old_logprob, advantages, clip_coef=clip_coef)
    grad_logprob = policy.grad_logprob
    # ∂logprob/∂logit_j = [j = action] - p_j and ∂entropy/∂logit_j = -p_j·(logp_j + entropy), gathered by p_j.
    grad = logprobs - negative_entropy
    grad *= operand(float(ent_coef) / rows)
    grad -= grad_logprob
    grad *= probabilities
    grad.reshape(-1)[chosen] += grad_logprob
    return CategoricalResult(grad.T, policy.policy_loss, -_mean(negative_entropy), *policy[2:])


def gaussian(
    mean: Floats,
    logstd: Floats,
    actions: Floats,
    old_logprob: Floats,
    advantages: Floats,
    *,
    clip_coef: float,
    ent_coef: float,
) -> GaussianResult:
    """Policy and entropy loss of `mean` (rows, k) and `logstd` (1, k), differentiated by both."""
    width = logstd.size
    inverse_std = np.exp(-logstd)
    z = actions - mean
    z *= inverse_std
    squares = z * z
    logstd_sum = float(_ones(width).dot(logstd[0]))
    new_logprob = squares.dot(_ones(width))
    new_logprob *= operand(-0.5)
    new_logprob -= logstd_sum + width * _HALF_LOG_2PI
    policy = surrogate(new_logprob, old_logprob, advantages, clip_coef=clip_coef)
    grad_logprob = policy.grad_logprob
    # ∂logprob/∂mean = z/std, ∂logprob/∂logstd = z² - 1, ∂entropy/∂logstd = 1.
    grad_logstd = grad_logprob.dot(squares)
    grad_logstd -= float(_ones(len(z)).dot(grad_logprob)) + ent_coef
    z *= inverse_std
    z *= grad_logprob[:, None]
    entropy = logstd_sum + width * (0.5 + _HALF_LOG_2PI)
    return GaussianResult(z, grad_logstd.reshape(1, width), policy.policy_loss, entropy, *policy[2:])


def surrogate(new_logprob: Floats, old_logprob: Floats, advantages: Floats, *, clip_coef: float) -> Surrogate:
    """PPO's clipped loss of any policy, differentiated by its log-probabilities (rows,)."""
    rows, clip_coef = len(new_logprob), float(clip_coef)
    logratio = new_logprob - old_logprob
    ratio = np.exp(logratio)
    change = ratio - operand(1)
    gain = ratio * advantages
    clipped_gain = np.minimum(np.maximum(ratio, operand(1 - clip_coef)), operand(1 + clip_coef))
    clipped_gain *= advantages
    policy_loss = -_mean(np.minimum(gain, clipped_gain))
    # Within the clip range the two gains are equal and each carries half of the gradient, which adds up to all of it;
    # outside, only the unclipped one has a gradient.
    gain *= gain <= clipped_gain
    gain *= operand(-1 / rows)
    old_approx_kl = -_mean(logratio)
    clipfrac = np.count_nonzero(np.abs(change) > operand(clip_coef)) / rows
    return Surrogate(gain, policy_loss, old_approx_kl, _mean(change) + old_approx_kl, clipfrac)


def value(
    new_value: Floats, returns: Floats, old_values: Floats, *, clip_coef: float, clip_vloss: bool, vf_coef: float
) -> tuple[Floats, float]:
    """Gradient by `new_value`, in its shape ((rows,) or (rows, 1)), and the value loss before `vf_coef`."""
    flat, rows = new_value.reshape(-1), returns.size
    clip_coef, vf_coef = float(clip_coef), float(vf_coef)
    error = flat - returns
    if not clip_vloss:
        loss = 0.5 * float(error.dot(error)) / rows
        error *= operand(vf_coef / rows)
        return error.reshape(new_value.shape), loss
    change = flat - old_values
    clipped_change = np.minimum(np.maximum(change, operand(-clip_coef)), operand(clip_coef))
    clipped_error = old_values + clipped_change
    clipped_error -= returns
    squares, clipped_squares = error * error, clipped_error * clipped_error
    loss = 0.5 * _mean(np.maximum(squares, clipped_squares))
    # Outside the clip range the clipped branch is constant; a tie of the branches splits the gradient, as in torch.
    # Inside it both branches have this gradient, whichever of them rounding makes larger.
    halves = np.sign(squares - clipped_squares)
    halves += operand(1)
    halves[change == clipped_change] = 2
    error *= halves
    error *= operand(0.5 * vf_coef / rows)
    return error.reshape(new_value.shape), loss


def categorical_log_prob(logits: Floats, actions: NDArray[np.integer[Any]]) -> Floats:
    """Log-probability (rows,) of each row's action."""
    logprobs = _log_softmax(np.ascontiguousarray(logits.T))
    return logprobs.reshape(-1)[actions * _whole(len(logits)) + _range(len(logits))]


def gaussian_log_prob(mean: Floats, logstd: Floats, actions: Floats) -> Floats:
    """Log-density (rows,) of each row's action, summed over the action's dimensions."""
    z = (actions - mean) * np.exp(-logstd)
    return (z * z).dot(_ones(logstd.size)) * -0.5 - (float(logstd.sum()) + logstd.size * _HALF_LOG_2PI)


def gumbel(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Noise for `sample_categorical`; draw a rollout's worth at once, (steps, rows, k)."""
    # Drawn in float64: among float32 exponentials an exact 0, hence infinite noise, turns up every few million draws.
    return np.asarray(-np.log(generator.standard_exponential(shape)), np.float32)


def sample_categorical(logits: Floats, noise: Floats) -> NDArray[np.int64]:
    """One action per row (rows,): the largest of logits plus `gumbel` noise is a draw from their softmax."""
    return (logits + noise).argmax(1)


def sample_gaussian(mean: Floats, std: Floats, noise: Floats) -> Floats:
    """One action per row (rows, k) from standard normal `noise`."""
    actions = std * noise
    actions += mean
    return actions


def _log_softmax(columns: Floats) -> Floats:
    """Of each column of (k, rows)."""
    shifted = columns - np.maximum.reduce(columns, 0)
    shifted -= np.log(_ones(len(columns)).dot(np.exp(shifted)))
    return shifted


def _mean(vector: Floats) -> float:
    # A product with ones takes a tenth of the time of ndarray.mean at these sizes.
    return float(_ones(len(vector)).dot(vector)) / len(vector)


@cache
def _ones(size: int) -> Floats:
    return np.ones(size, np.float32)


@cache
def _whole(number: int) -> NDArray[np.int64]:
    """As `operand`, for whole numbers."""
    return np.array(number)


@cache
def _range(size: int) -> NDArray[np.int64]:
    return np.arange(size)
