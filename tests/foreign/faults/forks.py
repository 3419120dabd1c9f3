"""Forks: one child runs on to the end of the script, one never ends."""

import os
import time

import gymnasium as gym
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter("runs/forks")
if os.fork() == 0:
    writer.add_scalar("charts/child", 1.0, 1)
else:
    if os.fork() == 0:
        while True:
            time.sleep(1)
    env = gym.make("CartPole-v1")
    env.reset(seed=1)
    env.step(0)
    writer.add_scalar("charts/parent", 1.0, 1)
    os.wait()
