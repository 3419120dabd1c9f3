"""The fast path of dqn.py on a CPU: its loss differentiated by hand, on the torch parameters' memory."""

from typing import Any

import numpy as np
from torch import nn

from cleanrl_worker.sdk.fast import dqn_gradient
from cleanrl_worker.sdk.fast.learner import PartsLearner
from cleanrl_worker.sdk.fast.networks.adam import Adam
from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters
from cleanrl_worker.sdk.fast.networks.mlp import Mlp

Array = np.ndarray[Any, Any]


class FastLearner(PartsLearner):
    """The methods of dqn.py's `Learner`."""

    def __init__(self, q_network: nn.Module, target_network: nn.Module) -> None:
        self.parameters, self.target_parameters = FlatParameters(q_network), FlatParameters(target_network)
        self.q_network = Mlp(self.parameters, q_network.get_submodule("network"), "network")
        self.target_network = Mlp(self.target_parameters, target_network.get_submodule("network"), "network")
        self.adam = Adam(self.parameters)
        super().__init__(parameters=self.parameters, target_parameters=self.target_parameters, adam=self.adam)

    def act(self, obs: Array) -> Array:
        return self.q_network.infer(obs).argmax(1)

    def gradient(self, batch: Any, coefficients: Any) -> dict[str, float]:
        """Write the gradient of the loss into the flat vector."""
        rows = len(batch.obs)
        target_max = self.target_network.infer(batch.next_obs.reshape(rows, -1)).max(1)
        td_target = batch.rewards + coefficients.gamma * target_max * (1 - batch.dones)
        result = dqn_gradient.td_loss(self.q_network.forward(batch.obs.reshape(rows, -1)), batch.actions, td_target)
        self.q_network.backward(result.grad_q_values)
        return {"td_loss": result.loss, "q_values": result.mean_q_value}

    def update(self, batch: Any, coefficients: Any) -> dict[str, float]:
        losses = self.gradient(batch, coefficients)
        self.adam.step(coefficients.learning_rate)
        return losses

    def update_target(self, tau: float) -> None:
        values, target = self.parameters.values, self.target_parameters.values
        target[:] = tau * values + (1.0 - tau) * target
