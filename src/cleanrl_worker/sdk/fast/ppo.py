"""The fast path of ppo.py on a CPU: its loss differentiated by hand, on the parameters' memory."""

from typing import Any

import numpy as np
from torch import nn

from cleanrl_worker.sdk.fast import ppo_gradient
from cleanrl_worker.sdk.fast.learner import PpoLearner, PpoSettings
from cleanrl_worker.sdk.fast.networks.adam import Adam
from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters
from cleanrl_worker.sdk.fast.networks.masked import Masked, WithoutMask
from cleanrl_worker.sdk.fast.networks.mlp import Mlp

FORBIDDEN = -1e8
"""Logit of a choice that is not allowed."""
Array = np.ndarray[Any, Any]


class FastLearner(PpoLearner):
    """The methods of ppo.py's `Learner`."""

    def __init__(self, agent: nn.Module, args: PpoSettings, *, masked: int = 0) -> None:
        """The last `masked` columns of observations are an action mask."""
        parameters = FlatParameters(agent)
        super().__init__(parameters, Adam(parameters, eps=1e-5), args)
        actor = Mlp(parameters, agent.get_submodule("actor"), "actor")
        critic = Mlp(parameters, agent.get_submodule("critic"), "critic")
        self.actor = Masked(actor, masked, FORBIDDEN) if masked else actor
        self.critic = WithoutMask(critic, masked) if masked else critic
        self.last_bits: np.random.Generator | None = None

    def act(self, obs: Array, noise: Array) -> Array:
        # The largest of logits plus Gumbel noise is a draw from their softmax.
        return (self.actor.infer(obs) + noise).argmax(1)

    def log_probs(self, obs: Array, actions: Array) -> Array:
        return ppo_gradient.categorical_log_prob(self.actor.infer(obs), actions)

    def values(self, obs: Array) -> Array:
        return self.critic.infer(obs)[:, 0].copy()

    def gradient(self, batch: Any, coefficients: Any) -> dict[str, float]:
        """Write the gradient of the loss into the flat vector."""
        policy = ppo_gradient.categorical(
            self.actor.forward(batch.obs),
            batch.actions,
            batch.logprobs,
            batch.advantages,
            clip_coef=coefficients.clip_coef,
            ent_coef=coefficients.ent_coef,
            last_bits=self.last_bits,
        )
        self.actor.backward(policy.grad_logits)
        outputs = self.critic.forward(batch.obs)
        grad_value, value_loss = self.value_gradient(outputs, batch.returns, batch.values, coefficients)
        self.critic.backward(grad_value)
        return {"value_loss": value_loss, **policy.logged()}

    def disturb(self, generator: np.random.Generator | None) -> None:
        """Disturb last bits; the guard asks how much hangs on them."""
        self.last_bits = generator
