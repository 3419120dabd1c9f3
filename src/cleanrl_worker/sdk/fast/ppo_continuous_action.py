"""The fast path of ppo_continuous_action.py on a CPU: its loss differentiated by hand, on the parameters' memory."""

from typing import Any

import numpy as np
from torch import nn

from cleanrl_worker.sdk.fast import ppo_gradient
from cleanrl_worker.sdk.fast.learner import PpoLearner, PpoSettings
from cleanrl_worker.sdk.fast.networks.adam import Adam
from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters, Floats, UnknownNetwork
from cleanrl_worker.sdk.fast.networks.mlp import Mlp

Array = np.ndarray[Any, Any]


class FastLearner(PpoLearner):
    """The methods of ppo_continuous_action.py's `Learner`."""

    def __init__(self, agent: nn.Module, args: PpoSettings) -> None:
        parameters = FlatParameters(agent)
        super().__init__(parameters, Adam(parameters, eps=1e-5), args)
        self.actor = Mlp(parameters, agent.get_submodule("actor_mean"), "actor_mean")
        self.logstd = log_std_of(parameters)
        self.critic = Mlp(parameters, agent.get_submodule("critic"), "critic")

    def std(self) -> Array:
        return np.exp(self.logstd)

    def act(self, obs: Array, noise: Array) -> Array:
        return self.actor.infer(obs) + noise

    def log_probs(self, obs: Array, actions: Array) -> Array:
        return ppo_gradient.gaussian_log_prob(self.actor.infer(obs), self.logstd, actions)

    def values(self, obs: Array) -> Array:
        return self.critic.infer(obs)[:, 0].copy()

    def means(self, batch: Any) -> Array:
        """Of the actions that the loss judges."""
        return self.actor.forward(batch.obs)

    def gradient(self, batch: Any, coefficients: Any) -> dict[str, float]:
        """Write the gradient of the loss into the flat vector."""
        policy = ppo_gradient.gaussian(
            self.means(batch),
            self.logstd,
            batch.actions,
            batch.logprobs,
            batch.advantages,
            clip_coef=coefficients.clip_coef,
            ent_coef=coefficients.ent_coef,
        )
        self.actor.backward(policy.grad_mean)
        self.parameters.gradient_of["actor_logstd"][...] = policy.grad_logstd
        outputs = self.critic.forward(batch.obs)
        grad_value, value_loss = self.value_gradient(outputs, batch.returns, batch.values, coefficients)
        self.critic.backward(grad_value)
        return {"value_loss": value_loss, **policy.logged()}


def log_std_of(parameters: FlatParameters) -> Floats:
    """The spread of the actions: one row for all states."""
    logstd = parameters.value_of.get("actor_logstd")
    if logstd is None or logstd.ndim != 2 or len(logstd) != 1:
        raise UnknownNetwork("the spread must be a parameter 'actor_logstd' of shape (1, actions)")
    return logstd
