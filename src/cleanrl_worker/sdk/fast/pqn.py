"""The fast path of pqn.py on a CPU: its loss differentiated by hand, on the parameters' memory."""

from typing import Any, Protocol

import numpy as np
from torch import nn

from cleanrl_worker.sdk.fast import dqn_gradient
from cleanrl_worker.sdk.fast.learner import PartsLearner
from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters
from cleanrl_worker.sdk.fast.networks.layer_norm_mlp import LayerNormMlp
from cleanrl_worker.sdk.fast.networks.radam import RAdam

Array = np.ndarray[Any, Any]


class Settings(Protocol):
    """What it reads of the algorithm's Args."""

    @property
    def max_grad_norm(self) -> float: ...


class FastLearner(PartsLearner):
    """The methods of pqn.py's `Learner`."""

    def __init__(self, q_network: nn.Module, args: Settings) -> None:
        self.args = args
        self.parameters = FlatParameters(q_network)
        self.q_network = LayerNormMlp(self.parameters, q_network.get_submodule("network"), "network")
        self.radam = RAdam(self.parameters)
        super().__init__(parameters=self.parameters, radam=self.radam)

    def act(self, obs: Array) -> Array:
        return self.q_network.infer(obs).argmax(1)

    def values(self, obs: Array) -> Array:
        return self.q_network.infer(obs).max(1)

    def gradient(self, batch: Any) -> dict[str, float]:
        """Write the gradient of the loss into the flat vector."""
        result = dqn_gradient.td_loss(self.q_network.forward(batch.obs), batch.actions, batch.returns)
        self.q_network.backward(result.grad_q_values)
        return {"td_loss": result.loss, "q_values": result.mean_q_value}

    def update(self, batch: Any, learning_rate: float) -> dict[str, float]:
        losses = self.gradient(batch)
        self.radam.step(learning_rate, max_norm=self.args.max_grad_norm)
        return losses
