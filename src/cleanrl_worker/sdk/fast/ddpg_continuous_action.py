"""The fast path of ddpg_continuous_action.py on a CPU: its losses differentiated by hand, on the parameters' memory."""

from typing import Any, SupportsFloat

import numpy as np

from cleanrl_worker.sdk.fast.actor_critic import DeterministicLearner
from cleanrl_worker.sdk.fast.networks.flat_parameters import Floats
from cleanrl_worker.sdk.fast.networks.relu_network import critic_of
from cleanrl_worker.sdk.replay import rows_of

Array = np.ndarray[Any, Any]


class FastLearner(DeterministicLearner):
    """The methods of ddpg_continuous_action.py's `Learner`."""

    def __init__(self, agent: Any) -> None:
        super().__init__(agent, critic="qf1")
        self.qf1 = critic_of(agent.qf1)
        # The target has spoken before the critic does: in the same buffers, which are then still in the cache.
        self.target_qf1 = critic_of(agent.target_qf1, shares=self.qf1)

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

    def update_critic(self, batch: Any, coefficients: Any) -> dict[str, SupportsFloat]:
        losses = self.critic_gradient(batch, self.bootstrapped(batch, coefficients))
        self.adams["qf1"].step(coefficients.learning_rate)
        return losses
