"""The fast path of ddpg_continuous_action.py on a CPU: its losses differentiated by hand, on the parameters' memory."""

from typing import Any, SupportsFloat

import numpy as np
import torch

from cleanrl_worker.sdk.fast.learner import PartsLearner
from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters, Floats
from cleanrl_worker.sdk.fast.networks.fused_adam import FusedAdam
from cleanrl_worker.sdk.fast.networks.relu_network import critic_of
from cleanrl_worker.sdk.fast.networks.tanh_actor import actor_of
from cleanrl_worker.sdk.replay import rows_of

Array = np.ndarray[Any, Any]


class FastLearner(PartsLearner):
    """The methods of ddpg_continuous_action.py's `Learner`."""

    def __init__(self, agent: Any) -> None:
        self.scale, self.bias = agent.actor.action_scale.numpy(), agent.actor.action_bias.numpy()
        self.parameters = {name: FlatParameters(module) for name, module in agent.named_children()}
        self.adams = {name: FusedAdam(self.parameters[name]) for name in ("actor", "qf1")}
        self.actor, self.target_actor = actor_of(agent.actor), actor_of(agent.target_actor)
        self.qf1 = critic_of(agent.qf1)
        # The target has spoken before the critic does: in the same buffers, which are then still in the cache.
        self.target_qf1 = critic_of(agent.target_qf1, shares=self.qf1)
        super().__init__(parameters=self.parameters, adams=self.adams)

    def drawn(self, rows: int) -> Floats:
        return torch.randn(rows, len(self.scale)).numpy()

    def within_bounds(self, actions: Floats) -> Floats:
        return actions.clip(self.bias - self.scale, self.bias + self.scale, actions)

    def act(self, obs: Array, exploration_noise: float) -> Array:
        actions = self.actor.forward(obs)
        actions += self.drawn(len(obs)) * (exploration_noise * self.scale)
        return self.within_bounds(actions)

    def bootstrapped(self, batch: Any, coefficients: Any) -> Floats:
        """The target."""
        next_obs = rows_of(batch.next_obs)
        (next_values,) = self.target_qf1.forward(next_obs, self.target_actor.forward(next_obs))
        target = next_values[:, 0] * (1 - batch.dones)
        target *= coefficients.gamma
        target += batch.rewards
        return target

    def critic_gradient(self, batch: Any, target: Floats) -> dict[str, SupportsFloat]:
        values = self.qf1.forward(rows_of(batch.obs), rows_of(batch.actions))[0][:, 0]
        error, rows = values - target, len(values)
        losses: dict[str, SupportsFloat] = {
            "qf1_values": np.add.reduce(values) / rows,
            "qf1_loss": float(error.dot(error)) / rows,
        }
        error *= 2 / rows
        self.qf1.backward(error[:, None])
        return losses

    def actor_gradient(self, obs: Array) -> SupportsFloat:
        """The loss."""
        (values,) = self.qf1.forward(obs, self.actor.forward(obs))
        grad_values = np.full((len(obs), 1), -1 / len(obs), np.float32)
        self.actor.backward(self.qf1.input_gradient(grad_values, columns=slice(obs.shape[1], None)))
        return -np.add.reduce(values[:, 0]) / len(obs)

    def update_critic(self, batch: Any, coefficients: Any) -> dict[str, SupportsFloat]:
        losses = self.critic_gradient(batch, self.bootstrapped(batch, coefficients))
        self.adams["qf1"].step(coefficients.learning_rate)
        return losses

    def update_policy(self, batch: Any, coefficients: Any) -> dict[str, SupportsFloat]:
        loss = self.actor_gradient(rows_of(batch.obs))
        self.adams["actor"].step(coefficients.learning_rate)
        for name in ("actor", "qf1"):
            target, values = (torch.from_numpy(self.parameters[key].values) for key in (f"target_{name}", name))
            target.lerp_(values, coefficients.tau)
        return {"actor_loss": loss}

    def disturb(self, generator: np.random.Generator | None) -> None:
        """Disturb last bits; the guard asks how much hangs on them."""
        self.actor.last_bits = self.target_actor.last_bits = generator
