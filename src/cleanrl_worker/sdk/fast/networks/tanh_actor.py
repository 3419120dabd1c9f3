"""A deterministic policy whose actions tanh bends into the bounds of the action space, and its gradient, by hand.

With m the output of the network and s, b the scale and centre of the action space: action = s·tanh(m) + b.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from cleanrl_worker.sdk.fast.last_bits import disturbed
from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters, Floats
from cleanrl_worker.sdk.fast.networks.relu_network import ReluNetwork, layers_of


class TanhActor:
    """Hidden ReLU layers and one head, whose parameters must be views of `FlatParameters`."""

    def __init__(self, hidden: Sequence[nn.Linear], head: nn.Linear, *, scale: Floats, centre: Floats) -> None:
        self._network = ReluNetwork(hidden, [head])
        self._scale = scale
        self._centre = centre
        self._squashed: Floats | None = None
        self.last_bits: np.random.Generator | None = None
        """Where there is one, it disturbs the last bit of each tanh."""

    def forward(self, obs: NDArray[Any]) -> Floats:
        """The actions, an array of their own."""
        (mean,) = self._network.forward(obs)
        squashed = np.tanh(mean)
        if self.last_bits is not None:
            squashed = disturbed(squashed, self.last_bits)
        self._squashed = squashed
        actions = squashed * self._scale
        actions += self._centre
        return actions

    def backward(self, grad_actions: Floats) -> None:
        """Write the parameters' gradients, from the loss's gradient by the actions of the last `forward`."""
        if self._squashed is None:
            raise ValueError("a gradient needs a forward before it")
        grad_mean = 1 - self._squashed * self._squashed
        grad_mean *= self._scale
        grad_mean *= grad_actions
        self._network.backward(grad_mean)


def actor_of(actor: nn.Module) -> TanhActor:
    """An actor whose parameters are flat."""
    fc1, fc2, fc_mu = layers_of(actor, "fc1", "fc2", "fc_mu")
    scale, centre = actor.get_buffer("action_scale").numpy(), actor.get_buffer("action_bias").numpy()
    return TanhActor([fc1, fc2], fc_mu, scale=scale, centre=centre)


def actions_by_hand(actor: nn.Module) -> Callable[[NDArray[Any]], Floats]:
    """What a trained actor does, as a function of observations (rows, features)."""
    same = copy.deepcopy(actor)
    FlatParameters(same)
    return actor_of(same).forward
