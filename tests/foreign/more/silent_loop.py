"""Steps an environment and logs nothing at all."""

import gymnasium as gym
import numpy as np

STEPS = 900

rng = np.random.default_rng(4)
env = gym.make("CartPole-v1")
env.reset(seed=4)
for _ in range(STEPS):
    _, _, terminated, truncated, _ = env.step(int(rng.integers(2)))
    if terminated or truncated:
        env.reset()
env.close()
