"""DQN's mean squared TD loss and its gradient by the Q-values."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.sdk.fast.networks.flat_parameters import Floats


class TdResult(NamedTuple):
    """Gradient, loss and the mean Q-value of the actions taken (upstream's `losses/q_values`)."""

    grad_q_values: Floats
    loss: float
    mean_q_value: float


def td_loss(q_values: Floats, actions: NDArray[np.integer[Any]], target: Floats) -> TdResult:
    """mean((q[action] - target)²) for `q_values` (rows, k), differentiated by them."""
    rows = len(q_values)
    each_row = np.arange(rows)
    chosen = q_values[each_row, actions]
    error = chosen - target
    loss = float(error.dot(error)) / rows
    error *= 2 / rows
    # Feature-major, as the outputs of Mlp.
    grad = np.zeros_like(q_values.T, order="C")
    grad[actions, each_row] = error
    return TdResult(grad.T, loss, float(np.add.reduce(chosen)) / rows)
