"""C51's distributions over returns: the projected target, and the cross-entropy's gradient by the logits, by hand.

A return is one of `atoms`, evenly spaced. The network gives (rows, choices · atoms) logits, feature-major in memory as
`Mlp` leaves them; arrays of one action's distribution are (rows, atoms). All are float32, but for integer actions.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.sdk.fast.networks.flat_parameters import Floats

_LEAST, _MOST = np.float32(1e-5), np.float32(1 - 1e-5)
"""CleanRL clamps probabilities to these before it takes their logarithm."""


class C51Result(NamedTuple):
    """Gradient, loss and the mean value of the actions taken (upstream's `losses/q_values`)."""

    grad_logits: Floats
    loss: float
    mean_q_value: float


def q_values(logits: Floats, atoms: Floats) -> Floats:
    """The expected return of each action, (choices, rows)."""
    return np.matmul(atoms, _softmax(_by_action(logits, len(atoms)), 1))


def best_distribution(logits: Floats, atoms: Floats) -> Floats:
    """The distribution (rows, atoms) of the action that is worth most."""
    distributions = _softmax(_by_action(logits, len(atoms)), 1)
    best = np.matmul(atoms, distributions).argmax(0)
    return distributions[best, :, np.arange(len(logits))]


def project(next_pmfs: Floats, rewards: Floats, dones: Floats, atoms: Floats, *, gamma: float) -> Floats:
    """The distribution of reward + gamma · return, shared out between the two atoms around each value.

    Where an episode was terminated (`dones` is 1) nothing but the reward remains.
    """
    rows, count = next_pmfs.shape
    low, spacing = atoms[0], (atoms[-1] - atoms[0]) / (count - 1)
    places = rewards[:, None] + (gamma * (1 - dones))[:, None] * atoms
    np.clip(places, low, atoms[-1], places)
    places -= low
    places /= spacing
    # The last atom is the upper one of the last gap; so a place always lies between `lower` and `lower + 1`. A reward
    # that is not a number has no place: it goes on as NaN in `places`, and the loss tells.
    with np.errstate(invalid="ignore"):
        lower = places.astype(np.int64)
    np.clip(lower, 0, count - 2, lower)
    places -= lower
    upper_share = places * next_pmfs
    lower += count * np.arange(rows)[:, None]
    flat = lower.reshape(-1)
    target = np.bincount(flat, (next_pmfs - upper_share).reshape(-1), rows * count)
    target[1:] += np.bincount(flat, upper_share.reshape(-1), rows * count)[:-1]
    return target.astype(np.float32).reshape(rows, count)


def cross_entropy(logits: Floats, actions: NDArray[np.integer[Any]], target: Floats, atoms: Floats) -> C51Result:
    """mean(-Σ target · log p) of the actions' distributions p, differentiated by the logits."""
    rows, count = target.shape
    each_row = np.arange(rows)
    pmfs = _softmax(_by_action(logits, count)[actions, :, each_row], 1)
    clamped = np.clip(pmfs, _LEAST, _MOST)
    loss = -float(np.vdot(target, np.log(clamped))) / rows
    # A probability that the clamp changed carries no gradient.
    weight = target * (clamped == pmfs)
    grad = pmfs * np.add.reduce(weight, 1, keepdims=True)
    grad -= weight
    grad /= rows
    whole = np.zeros_like(logits.T, order="C")
    _by_action(whole.T, count)[actions, :, each_row] = grad
    return C51Result(whole.T, loss, float(np.add.reduce(pmfs.dot(atoms))) / rows)


def _by_action(logits: Floats, count: int) -> Floats:
    """A view (choices, atoms, rows)."""
    return logits.T.reshape(-1, count, len(logits))


def _softmax(logits: Floats, axis: int) -> Floats:
    result = logits - np.maximum.reduce(logits, axis, keepdims=True)
    np.exp(result, result)
    result /= np.add.reduce(result, axis, keepdims=True)
    return result
