"""Stable-Baselines3 as its users write it."""

import gymnasium as gym
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

env = make_vec_env("CartPole-v1", n_envs=2, seed=1)
model = PPO("MlpPolicy", env, n_steps=64, batch_size=64, n_epochs=1, seed=1, tensorboard_log="./tb/", verbose=0)
model.learn(total_timesteps=512, log_interval=1)
model.save("ppo_cartpole")
assert isinstance(env.action_space, gym.spaces.Discrete)
env.close()
