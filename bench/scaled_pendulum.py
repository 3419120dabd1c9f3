"""Pendulum-v1 with actions in [-1, 1] instead of [-2, 2]: what Stable-Baselines3 makes of it by itself."""

from typing import Any

import gymnasium as gym

ENV_ID = "bench.scaled_pendulum:ScaledPendulum-v1"


def make(**options: Any) -> gym.Env[Any, Any]:
    return gym.wrappers.RescaleAction(gym.make("Pendulum-v1", **options).unwrapped, -1.0, 1.0)


gym.register("ScaledPendulum-v1", entry_point=make, max_episode_steps=200)
