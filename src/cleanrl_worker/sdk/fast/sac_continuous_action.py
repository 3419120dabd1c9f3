"""The fast path of sac_continuous_action.py on a CPU: its losses differentiated by hand, on the parameters' memory.

Work that changes nothing is left out: the critics get no gradient from the actor's loss, a row's gradient goes through
its lower critic only, and the pass of the actor that alpha needs serves the next policy step as well.
"""

import copy
import math
from collections.abc import Callable
from typing import Any, Protocol, SupportsFloat

import numpy as np
import torch
from torch import nn

from cleanrl_worker.sdk.fast.actor_critic import TwinCritics
from cleanrl_worker.sdk.fast.learner import PartsLearner
from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters, Floats
from cleanrl_worker.sdk.fast.networks.fused_adam import FusedAdam
from cleanrl_worker.sdk.fast.networks.relu_network import ReluNetwork, critic_of, layers_of
from cleanrl_worker.sdk.fast.sac_gradient import SquashedGaussian
from cleanrl_worker.sdk.replay import rows_of

Array = np.ndarray[Any, Any]
Range = tuple[float, float]


class Settings(Protocol):
    """What it reads of the algorithm's Args."""

    @property
    def autotune(self) -> bool: ...

    @property
    def policy_frequency(self) -> int: ...


class FastLearner(PartsLearner, TwinCritics):
    """The methods of sac_continuous_action.py's `Learner`."""

    def __init__(self, agent: Any, args: Settings, *, log_std_range: Range) -> None:
        self.args = args
        self.target_entropy: float = agent.target_entropy
        self.parameters = {name: FlatParameters(module) for name, module in agent.named_children()}
        self.adams = {name: FusedAdam(self.parameters[name]) for name in ("actor", "critics", "temperature")}
        self.actor, self.policy = by_hand(agent.actor, log_std_range)
        self.qf1, self.qf2 = critic_of(agent.critics.qf1), critic_of(agent.critics.qf2)
        # A target has spoken before its critic does: in the same buffers, which are then still in the cache.
        self.qf1_target = critic_of(agent.targets.qf1, shares=self.qf1)
        self.qf2_target = critic_of(agent.targets.qf2, shares=self.qf2)
        self.log_alpha = self.parameters["temperature"].values
        super().__init__(parameters=self.parameters, adams=self.adams)

    def weight_of_entropy(self, coefficients: Any) -> float:
        return math.exp(self.log_alpha[0]) if self.args.autotune else coefficients.alpha

    def drawn(self, rows: int) -> Floats:
        return torch.randn(rows, self.policy.dimensions).numpy()

    def act(self, obs: Array) -> Array:
        return self.policy.sample(*self.actor.forward(obs), noise=self.drawn(len(obs))).actions

    def soft_target(self, batch: Any, noise: Floats, coefficients: Any) -> Floats:
        next_obs = rows_of(batch.next_obs)
        sample = self.policy.sample(*self.actor.forward(next_obs), noise=noise)
        (first,), (second,) = (qf.forward(next_obs, sample.actions) for qf in (self.qf1_target, self.qf2_target))
        target = np.minimum(first[:, 0], second[:, 0])
        target -= self.weight_of_entropy(coefficients) * sample.logprob
        target *= (1 - batch.dones) * coefficients.gamma
        target += batch.rewards
        return target

    def actor_gradient(self, obs: Array, outputs: list[Floats], noise: Floats, coefficients: Any) -> SupportsFloat:
        """The loss; `outputs` are those of the actor for `obs`."""
        alpha = self.weight_of_entropy(coefficients)
        sample = self.policy.sample(*outputs, noise=noise)
        first, second = (qf.forward(obs, sample.actions)[0][:, 0] for qf in (self.qf1, self.qf2))
        # A row's gradient flows through the lower critic alone, so each works on its own rows: half of the work.
        first_is_lower = first <= second
        grad_actions = np.empty_like(sample.actions)
        for qf, lower in ((self.qf1, first_is_lower), (self.qf2, ~first_is_lower)):
            rows = np.flatnonzero(lower)
            grad_value = np.full((len(rows), 1), -1 / len(obs), np.float32)
            grad_actions[rows] = qf.input_gradient(grad_value, rows=rows, columns=slice(obs.shape[1], None))
        self.actor.backward(*self.policy.backward(sample, grad_actions, alpha / len(obs)))
        return np.add.reduce(alpha * sample.logprob - np.minimum(first, second)) / len(obs)

    def alpha_gradient(self, outputs: list[Floats], noise: Floats) -> float:
        """The loss, which is its own gradient by log_alpha: exp is its own derivative."""
        logprob = self.policy.sample(*outputs, noise=noise).logprob
        loss = -math.exp(self.log_alpha[0]) * (float(logprob.mean()) + self.target_entropy)
        self.parameters["temperature"].gradient[:] = loss
        return loss

    def update_critics(self, batch: Any, coefficients: Any) -> dict[str, SupportsFloat]:
        target = self.soft_target(batch, self.drawn(len(batch.obs)), coefficients)
        losses = self.critic_gradient(batch, target)
        self.adams["critics"].step(coefficients.q_lr)
        return {**losses, "alpha": self.weight_of_entropy(coefficients)}

    def update_policy(self, batch: Any, coefficients: Any) -> dict[str, SupportsFloat]:
        obs, losses = rows_of(batch.obs), dict[str, SupportsFloat]()
        outputs = self.actor.forward(obs)
        for _ in range(self.args.policy_frequency):
            losses["actor_loss"] = self.actor_gradient(obs, outputs, self.drawn(len(obs)), coefficients)
            self.adams["actor"].step(coefficients.policy_lr)
            # One pass of the improved actor serves alpha now and the next round.
            outputs = self.actor.forward(obs)
            if self.args.autotune:
                losses["alpha_loss"] = self.alpha_gradient(outputs, self.drawn(len(obs)))
                self.adams["temperature"].step(coefficients.q_lr)
        return {**losses, "alpha": self.weight_of_entropy(coefficients)}

    def update_targets(self, tau: float) -> None:
        targets, critics = (torch.from_numpy(self.parameters[name].values) for name in ("targets", "critics"))
        targets.lerp_(critics, tau)

    def disturb(self, generator: np.random.Generator | None) -> None:
        """Disturb last bits; the guard asks how much hangs on them."""
        self.policy.last_bits = generator


def by_hand(actor: nn.Module, log_std_range: Range) -> tuple[ReluNetwork, SquashedGaussian]:
    """The two halves of an actor whose parameters are flat."""
    fc1, fc2, fc_mean, fc_logstd = layers_of(actor, "fc1", "fc2", "fc_mean", "fc_logstd")
    scale, bias = actor.get_buffer("action_scale").numpy(), actor.get_buffer("action_bias").numpy()
    return ReluNetwork([fc1, fc2], [fc_mean, fc_logstd]), SquashedGaussian(scale, bias, log_std_range=log_std_range)


def actions_by_hand(actor: nn.Module, log_std_range: Range) -> Callable[[Array, Array], Array]:
    """What a trained actor does, as a function of observations (rows, features) and standard normal noise."""
    same = copy.deepcopy(actor)
    FlatParameters(same)
    network, policy = by_hand(same, log_std_range)
    return lambda obs, noise: policy.sample(*network.forward(obs), noise=noise).actions
