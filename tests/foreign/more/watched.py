"""Environments of every kind, stepped until told to stop; counts how often its own one is drawn."""

import argparse
import time

import gymnasium as gym
import numpy as np


class Drawn(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}
    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)
    drawn = 0

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), 0.0, False, False, {}

    def render(self):
        Drawn.drawn += 1
        picture = np.zeros((40, 60, 3), np.uint8)
        picture[:, ::2] = (200, 100, Drawn.drawn % 256)
        return picture


gym.register("Drawn-v0", Drawn)
parser = argparse.ArgumentParser()
parser.add_argument("--kind")
parser.add_argument("--seconds", type=float, default=600)
args = parser.parse_args()
if args.kind == "single":
    envs = gym.make("Drawn-v0")
    actions = 0
elif args.kind == "sync":
    envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1") for _ in range(4)])
    actions = np.zeros(4, int)
elif args.kind == "async":
    envs = gym.vector.AsyncVectorEnv([lambda: gym.make("CartPole-v1") for _ in range(2)])
    actions = np.zeros(2, int)
elif args.kind == "sb3":
    from stable_baselines3.common.env_util import make_vec_env

    envs = make_vec_env("CartPole-v1", n_envs=2)
    actions = np.zeros(2, int)
else:
    import envpool

    envs = envpool.make("Pong-v5", env_type="gymnasium", num_envs=2, seed=1)
    actions = np.zeros(2, int)
envs.reset()
deadline = time.time() + args.seconds
while time.time() < deadline:
    envs.step(actions)
envs.close()
print(f"drawn {Drawn.drawn} times")
