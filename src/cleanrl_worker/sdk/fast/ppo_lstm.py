"""The fast path of ppo_lstm.py on a CPU: its loss differentiated by hand, on the parameters' memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from cleanrl_worker.sdk.fast import ppo_gradient
from cleanrl_worker.sdk.fast.learner import PpoLearner, PpoSettings
from cleanrl_worker.sdk.fast.lstm import Lstm, State
from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters, Floats
from cleanrl_worker.sdk.fast.networks.fused_adam import FusedAdam

Array = np.ndarray[Any, Any]


class FastLearner(PpoLearner):
    """The methods of ppo_lstm.py's `Learner`."""

    def __init__(self, agent: nn.Module, args: PpoSettings) -> None:
        parameters = FlatParameters(agent)
        super().__init__(parameters, FusedAdam(parameters, eps=1e-5), args)
        self.network = Linear(parameters, "network")
        self.lstm = Lstm(parameters, agent.get_submodule("lstm"), "lstm")
        self.actor, self.critic = Linear(parameters, "actor"), Linear(parameters, "critic")
        self.last_bits: np.random.Generator | None = None

    def remember(self, obs: Array, state: State, starts: Array) -> State:
        features = self.network.infer(obs)
        return self.lstm.step(np.maximum(features, 0, out=features), state, starts)

    def logits(self, hidden: Array) -> Array:
        return self.actor.infer(hidden)

    def log_probs(self, hidden: Array, actions: Array) -> Array:
        return ppo_gradient.categorical_log_prob(self.actor.infer(hidden), actions)

    def values(self, hidden: Array) -> Array:
        return self.critic.infer(hidden)[:, 0]

    def gradient(self, batch: Any, coefficients: Any) -> dict[str, float]:
        """Write the gradient of the loss into the flat vector."""
        steps, envs = batch.actions.shape
        features = self.network.forward(batch.obs.reshape(steps * envs, -1))
        np.maximum(features, 0, out=features)
        state = State(batch.hidden[0], batch.cell[0])
        hidden = self.lstm.forward(features.reshape(steps, envs, -1), state, batch.starts).reshape(steps * envs, -1)
        policy = ppo_gradient.categorical(
            self.actor.forward(hidden),
            batch.actions.reshape(-1),
            batch.logprobs.reshape(-1),
            batch.advantages.reshape(-1),
            clip_coef=coefficients.clip_coef,
            ent_coef=coefficients.ent_coef,
            last_bits=self.last_bits,
        )
        returns, values = batch.returns.reshape(-1), batch.values.reshape(-1)
        grad_value, value_loss = self.value_gradient(self.critic.forward(hidden), returns, values, coefficients)
        self.actor.backward(policy.grad_logits)
        self.critic.backward(grad_value)
        grad_hidden = self.actor.input_gradient(policy.grad_logits) + self.critic.input_gradient(grad_value)
        grad_features = self.lstm.backward(grad_hidden.reshape(steps, envs, -1)).reshape(steps * envs, -1)
        grad_features *= features > 0
        self.network.backward(grad_features)
        return {"value_loss": value_loss, **policy.logged()}

    def disturb(self, generator: np.random.Generator | None) -> None:
        """Disturb last bits; the guard asks how much hangs on them."""
        self.last_bits = generator


class Linear:
    """The layer `name` of the module behind `flat`; a batch is (rows, features)."""

    def __init__(self, flat: FlatParameters, name: str) -> None:
        values, gradient = flat.linear(name)
        self._weight, self._bias = values[:-1], values[-1]
        self._weight_gradient, self._bias_gradient = gradient[:-1], gradient[-1]
        self._inputs: Floats | None = None

    def infer(self, x: Floats) -> Floats:
        """Outputs for `x`, leaving alone what `backward` needs."""
        outputs = x.dot(self._weight)
        outputs += self._bias
        return outputs

    def forward(self, x: Floats) -> Floats:
        """Outputs for `x`, which must stay as it is until `backward`."""
        self._inputs = x
        return self.infer(x)

    def backward(self, grad_out: Floats) -> None:
        """Overwrite this layer's part of the flat gradient."""
        if self._inputs is None:
            raise ValueError("backward needs a forward before it")
        np.dot(self._inputs.T, grad_out, self._weight_gradient)
        np.add.reduce(grad_out, 0, out=self._bias_gradient)

    def input_gradient(self, grad_out: Floats) -> NDArray[np.float32]:
        """The loss's gradient by the inputs."""
        return grad_out.dot(self._weight.T)
