"""CartPole that rests at each step: a run that goes on until it is told to end leaves the processor to the others."""

import time
from typing import Any

import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv

REST_S = 0.002


class Resting(CartPoleEnv):
    """As quick as a viewer needs it."""

    def step(self, action: Any) -> Any:
        time.sleep(REST_S)
        return super().step(action)


gymnasium.register("Resting-v0", entry_point=Resting, max_episode_steps=500)
