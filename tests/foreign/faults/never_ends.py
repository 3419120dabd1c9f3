"""Never ends by itself, and has something to save when it is told to."""

import argparse
import time

import gymnasium as gym
from torch.utils.tensorboard import SummaryWriter

parser = argparse.ArgumentParser()
parser.add_argument("--stubborn", action="store_true")
args = parser.parse_args()
writer = SummaryWriter("runs/endless")
env = gym.make("CartPole-v1")
env.reset(seed=1)
step = 0
while True:
    try:
        # A loop of its own: at the turn of the outer one no `except` would be there for an interrupt.
        while True:
            *_, terminated, truncated, _info = env.step(env.action_space.sample())
            if terminated or truncated:
                env.reset()
            step += 1
            if step % 100 == 0:
                writer.add_scalar("charts/steps", step, step)
                time.sleep(0.001)
    except KeyboardInterrupt:
        if not args.stubborn:
            print("saved before the end", flush=True)
            raise
