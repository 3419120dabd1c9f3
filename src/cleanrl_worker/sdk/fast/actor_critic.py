"""What the fast learners with critics of actions share: two critics, and an actor that is deterministic."""

from typing import Any, SupportsFloat

import numpy as np
import torch

from cleanrl_worker.sdk.fast.learner import PartsLearner
from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters, Floats
from cleanrl_worker.sdk.fast.networks.fused_adam import FusedAdam
from cleanrl_worker.sdk.fast.networks.relu_network import ReluNetwork
from cleanrl_worker.sdk.fast.networks.tanh_actor import actor_of
from cleanrl_worker.sdk.replay import rows_of

Array = np.ndarray[Any, Any]


class TwinCritics:
    """Two critics that learn from one target."""

    qf1: ReluNetwork
    qf2: ReluNetwork

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


class DeterministicLearner(PartsLearner):
    """The actor of DDPG and TD3: what its first critic likes, and noise on what it does. The targets follow it."""

    qf1: ReluNetwork

    def __init__(self, agent: Any, *, critic: str) -> None:
        """`critic` is the module of the agent that holds what judges."""
        self.scale, self.bias = agent.actor.action_scale.numpy(), agent.actor.action_bias.numpy()
        self.parameters = {name: FlatParameters(module) for name, module in agent.named_children()}
        self.adams = {name: FusedAdam(self.parameters[name]) for name in ("actor", critic)}
        self.actor, self.target_actor = actor_of(agent.actor), actor_of(agent.target_actor)
        self.followed = ("actor", critic)
        super().__init__(parameters=self.parameters, adams=self.adams)

    def drawn(self, rows: int) -> Floats:
        return torch.randn(rows, len(self.scale)).numpy()

    def within_bounds(self, actions: Floats) -> Floats:
        return actions.clip(self.bias - self.scale, self.bias + self.scale, actions)

    def act(self, obs: Array, exploration_noise: float) -> Array:
        actions = self.actor.forward(obs)
        actions += self.drawn(len(obs)) * (exploration_noise * self.scale)
        return self.within_bounds(actions)

    def actor_gradient(self, obs: Array) -> SupportsFloat:
        """The loss."""
        (values,) = self.qf1.forward(obs, self.actor.forward(obs))
        grad_values = np.full((len(obs), 1), -1 / len(obs), np.float32)
        self.actor.backward(self.qf1.input_gradient(grad_values, columns=slice(obs.shape[1], None)))
        return -np.add.reduce(values[:, 0]) / len(obs)

    def update_policy(self, batch: Any, coefficients: Any) -> dict[str, SupportsFloat]:
        loss = self.actor_gradient(rows_of(batch.obs))
        self.adams["actor"].step(coefficients.learning_rate)
        for name in self.followed:
            target, values = (torch.from_numpy(self.parameters[key].values) for key in (f"target_{name}", name))
            target.lerp_(values, coefficients.tau)
        return {"actor_loss": loss}

    def disturb(self, generator: np.random.Generator | None) -> None:
        """Disturb last bits; the guard asks how much hangs on them."""
        self.actor.last_bits = self.target_actor.last_bits = generator
