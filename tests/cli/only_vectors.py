"""An environment that exists only as a vector: one generator for all of its slots."""

import gymnasium as gym

gym.register("Carts-v0", vector_entry_point="gymnasium.envs.classic_control.cartpole:CartPoleVectorEnv")
