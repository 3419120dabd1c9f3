"""The fast path of td3_continuous_action.py on a CPU: its losses differentiated by hand, on the parameters' memory."""

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
    """The methods of td3_continuous_action.py's `Learner`."""

    def __init__(self, agent: Any) -> None:
        self.scale, self.bias = agent.actor.action_scale.numpy(), agent.actor.action_bias.numpy()
        self.parameters = {name: FlatParameters(module) for name, module in agent.named_children()}
        self.adams = {name: FusedAdam(self.parameters[name]) for name in ("actor", "critics")}
        self.actor, self.target_actor = actor_of(agent.actor), actor_of(agent.target_actor)
        self.qf1, self.qf2 = critic_of(agent.critics.qf1), critic_of(agent.critics.qf2)
        # A target has spoken before its critic does: in the same buffers, which are then still in the cache.
        self.qf1_target = critic_of(agent.target_critics.qf1, shares=self.qf1)
        self.qf2_target = critic_of(agent.target_critics.qf2, shares=self.qf2)
        super().__init__(parameters=self.parameters, adams=self.adams)

    def drawn(self, rows: int) -> Floats:
        return torch.randn(rows, len(self.scale)).numpy()

    def within_bounds(self, actions: Floats) -> Floats:
        return actions.clip(self.bias - self.scale, self.bias + self.scale, actions)

    def act(self, obs: Array, exploration_noise: float) -> Array:
        actions = self.actor.forward(obs)
        actions += self.drawn(len(obs)) * (exploration_noise * self.scale)
        return self.within_bounds(actions)

    def smoothed_target(self, batch: Any, noise: Floats, coefficients: Any) -> Floats:
        next_obs, clip = rows_of(batch.next_obs), coefficients.noise_clip
        next_actions = self.target_actor.forward(next_obs)
        next_actions += (noise * coefficients.policy_noise).clip(-clip, clip) * self.scale
        next_actions = self.within_bounds(next_actions)
        (first,), (second,) = (qf.forward(next_obs, next_actions) for qf in (self.qf1_target, self.qf2_target))
        target = np.minimum(first[:, 0], second[:, 0])
        target *= (1 - batch.dones) * coefficients.gamma
        target += batch.rewards
        return target

    def critic_gradient(self, batch: Any, target: Floats) -> dict[str, SupportsFloat]:
        obs, actions = rows_of(batch.obs), rows_of(batch.actions)
        rows = len(obs)
        logged: dict[str, SupportsFloat] = {}
        losses: list[float] = []
        for name, qf in (("qf1", self.qf1), ("qf2", self.qf2)):
            values = qf.forward(obs, actions)[0][:, 0]
            error = values - target
            losses.append(float(error.dot(error)) / rows)
            logged |= {f"{name}_values": np.add.reduce(values) / rows, f"{name}_loss": losses[-1]}
            error *= 2 / rows
            qf.backward(error[:, None])
        return {**logged, "qf_loss": sum(losses) / 2.0}

    def actor_gradient(self, obs: Array) -> SupportsFloat:
        """The loss."""
        (values,) = self.qf1.forward(obs, self.actor.forward(obs))
        grad_values = np.full((len(obs), 1), -1 / len(obs), np.float32)
        self.actor.backward(self.qf1.input_gradient(grad_values, columns=slice(obs.shape[1], None)))
        return -np.add.reduce(values[:, 0]) / len(obs)

    def update_critics(self, batch: Any, coefficients: Any) -> dict[str, SupportsFloat]:
        target = self.smoothed_target(batch, self.drawn(len(batch.obs)), coefficients)
        losses = self.critic_gradient(batch, target)
        self.adams["critics"].step(coefficients.learning_rate)
        return losses

    def update_policy(self, batch: Any, coefficients: Any) -> dict[str, SupportsFloat]:
        loss = self.actor_gradient(rows_of(batch.obs))
        self.adams["actor"].step(coefficients.learning_rate)
        for name in ("actor", "critics"):
            target, values = (torch.from_numpy(self.parameters[key].values) for key in (f"target_{name}", name))
            target.lerp_(values, coefficients.tau)
        return {"actor_loss": loss}

    def disturb(self, generator: np.random.Generator | None) -> None:
        """Disturb last bits; the guard asks how much hangs on them."""
        self.actor.last_bits = self.target_actor.last_bits = generator
