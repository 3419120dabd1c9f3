"""Takes its number of episodes as a bare word; each is cut off by the time limit, and the last one is not reset."""

import sys

import gymnasium as gym

episodes = int(sys.argv[1])
env = gym.make("Pendulum-v1")
for episode in range(episodes):
    env.reset(seed=episode)
    over = False
    while not over:
        _, _, terminated, over, _ = env.step(env.action_space.sample())
        assert not terminated
