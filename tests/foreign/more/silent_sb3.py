"""Stable-Baselines3 without a folder for TensorBoard."""

from stable_baselines3 import PPO

model = PPO("MlpPolicy", "CartPole-v1", n_steps=128, batch_size=64, n_epochs=1, seed=1)
model.learn(total_timesteps=512)
