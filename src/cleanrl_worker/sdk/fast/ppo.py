"""The fast path of ppo.py on a CPU: its loss differentiated by hand, on the parameters' memory."""

from typing import Any, Protocol

import numpy as np
from torch import nn

from cleanrl_worker.sdk.fast import ppo_gradient
from cleanrl_worker.sdk.fast.adam import Adam
from cleanrl_worker.sdk.fast.flat import FlatParameters
from cleanrl_worker.sdk.fast.mlp import Mlp

Array = np.ndarray[Any, Any]


class Settings(Protocol):
    """What it reads of the algorithm's Args."""

    @property
    def clip_vloss(self) -> bool: ...

    @property
    def max_grad_norm(self) -> float: ...


class FastLearner:
    """The methods of ppo.py's `Learner`."""

    def __init__(self, agent: nn.Module, args: Settings) -> None:
        self.args = args
        self.parameters = FlatParameters(agent)
        self.actor = Mlp(self.parameters, agent.get_submodule("actor"), "actor")
        self.critic = Mlp(self.parameters, agent.get_submodule("critic"), "critic")
        self.adam = Adam(self.parameters, eps=1e-5)
        self.last_bits: np.random.Generator | None = None
        self.flats, self.optimisers = [self.parameters], [self.adam]

    def act(self, obs: Array, noise: Array) -> Array:
        return ppo_gradient.sample_categorical(self.actor.infer(obs), noise)

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
        grad_value, value_loss = ppo_gradient.value(
            self.critic.forward(batch.obs),
            batch.returns,
            batch.values,
            clip_coef=coefficients.clip_coef,
            clip_vloss=self.args.clip_vloss,
            vf_coef=coefficients.vf_coef,
        )
        self.critic.backward(grad_value)
        return {"value_loss": value_loss, **policy.logged()}

    def update(self, batch: Any, coefficients: Any) -> dict[str, float]:
        losses = self.gradient(batch, coefficients)
        self.adam.step(coefficients.learning_rate, max_norm=self.args.max_grad_norm)
        return losses

    def disturb(self, generator: np.random.Generator | None) -> None:
        """Disturb last bits; the guard asks how much hangs on them."""
        self.last_bits = generator

    def state(self) -> dict[str, Any]:
        return {"parameters": self.parameters.values, "adam": self.adam.state()}

    def load(self, state: dict[str, Any]) -> None:
        self.parameters.values[:] = state["parameters"]
        self.adam.load(state["adam"])
