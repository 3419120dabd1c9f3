"""The fast path of c51.py on a CPU: its loss differentiated by hand, on the torch parameters' memory."""

import copy
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from torch import nn

from cleanrl_worker.sdk.fast import c51_gradient
from cleanrl_worker.sdk.fast.learner import PartsLearner
from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters
from cleanrl_worker.sdk.fast.networks.fused_adam import FusedAdam
from cleanrl_worker.sdk.fast.networks.mlp import Mlp

Array = np.ndarray[Any, Any]


class Settings(Protocol):
    """What it reads of the algorithm's Args."""

    @property
    def batch_size(self) -> int: ...


class FastLearner(PartsLearner):
    """The methods of c51.py's `Learner`."""

    def __init__(self, q_network: nn.Module, target_network: nn.Module, args: Settings) -> None:
        self.parameters, self.target_parameters = FlatParameters(q_network), FlatParameters(target_network)
        self.q_network = Mlp(self.parameters, q_network.get_submodule("network"), "network")
        self.target_network = Mlp(self.target_parameters, target_network.get_submodule("network"), "network")
        self.adam = FusedAdam(self.parameters, eps=0.01 / args.batch_size)
        self.atoms = q_network.get_buffer("atoms").numpy()
        super().__init__(parameters=self.parameters, target_parameters=self.target_parameters, adam=self.adam)

    def act(self, obs: Array) -> Array:
        return c51_gradient.q_values(self.q_network.infer(obs), self.atoms).argmax(0)

    def projected(self, batch: Any, coefficients: Any) -> Array:
        """The target distributions."""
        next_logits = self.target_network.infer(batch.next_obs.reshape(len(batch.obs), -1))
        next_pmfs = c51_gradient.best_distribution(next_logits, self.atoms)
        return c51_gradient.project(next_pmfs, batch.rewards, batch.dones, self.atoms, gamma=coefficients.gamma)

    def gradient(self, batch: Any, coefficients: Any) -> dict[str, float]:
        """Write the gradient of the loss into the flat vector."""
        logits = self.q_network.forward(batch.obs.reshape(len(batch.obs), -1))
        target = self.projected(batch, coefficients)
        result = c51_gradient.cross_entropy(logits, batch.actions, target, self.atoms)
        self.q_network.backward(result.grad_logits)
        return {"loss": result.loss, "q_values": result.mean_q_value}

    def update(self, batch: Any, coefficients: Any) -> dict[str, float]:
        losses = self.gradient(batch, coefficients)
        self.adam.step(coefficients.learning_rate)
        return losses

    def update_target(self) -> None:
        self.target_parameters.values[:] = self.parameters.values


def q_values_by_hand(q_network: nn.Module) -> Callable[[Array], Array]:
    """What each action is worth, (rows, choices), as a function of observations (rows, features)."""
    same = copy.deepcopy(q_network)
    network = Mlp(FlatParameters(same), same.get_submodule("network"), "network")
    atoms = q_network.get_buffer("atoms").numpy()
    return lambda obs: c51_gradient.q_values(network.infer(obs), atoms).T
