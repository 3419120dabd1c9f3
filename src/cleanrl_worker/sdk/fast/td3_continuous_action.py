"""The fast path of td3_continuous_action.py on a CPU: its losses differentiated by hand, on the parameters' memory."""

from typing import Any, SupportsFloat

import numpy as np

from cleanrl_worker.sdk.fast.actor_critic import DeterministicLearner, TwinCritics
from cleanrl_worker.sdk.fast.networks.flat_parameters import Floats
from cleanrl_worker.sdk.fast.networks.relu_network import critic_of
from cleanrl_worker.sdk.replay import rows_of

Array = np.ndarray[Any, Any]


class FastLearner(DeterministicLearner, TwinCritics):
    """The methods of td3_continuous_action.py's `Learner`."""

    def __init__(self, agent: Any) -> None:
        super().__init__(agent, critic="critics")
        self.qf1, self.qf2 = critic_of(agent.critics.qf1), critic_of(agent.critics.qf2)
        # A target has spoken before its critic does: in the same buffers, which are then still in the cache.
        self.qf1_target = critic_of(agent.target_critics.qf1, shares=self.qf1)
        self.qf2_target = critic_of(agent.target_critics.qf2, shares=self.qf2)

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

    def update_critics(self, batch: Any, coefficients: Any) -> dict[str, SupportsFloat]:
        target = self.smoothed_target(batch, self.drawn(len(batch.obs)), coefficients)
        losses = self.critic_gradient(batch, target)
        self.adams["critics"].step(coefficients.learning_rate)
        return losses
