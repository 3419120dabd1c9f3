"""Does what users' scripts do and a recorder may trip over; each of these once ended the script or lost a number."""

import argparse
import gc
import multiprocessing
import weakref
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import wandb
from packaging.version import Version
from torch.utils.tensorboard import SummaryWriter


@dataclass
class Bare(gym.Env):
    """Without a hash, and not to be made with pictures here."""

    render_mode: str | None = None
    metadata = {"render_modes": ["rgb_array"]}
    observation_space = gym.spaces.Box(-1, 1, (1,))
    action_space = gym.spaces.Discrete(2)

    def __post_init__(self) -> None:
        if self.render_mode is not None:
            raise RuntimeError("no display")

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), 0.0, True, False, {}


class Odd(Bare):
    """Draws in a shape that is not a picture."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __post_init__(self) -> None: ...

    def render(self):
        return np.zeros((8, 8, 3, 3), np.uint8)


def child() -> None:
    writer = SummaryWriter("runs/child")
    writer.add_scalar("charts/child", 1.0, 1)
    writer.close()


gym.register("Bare-v0", entry_point=Bare)
gym.register("Odd-v0", entry_point=Odd)

Version(wandb.__version__)
run = wandb.init(project="mine", config=argparse.Namespace(lr=0.1), mode="disabled")
wandb.config.update(argparse.Namespace(gamma=0.9), allow_val_change=True)
wandb.config.setdefaults({"gamma": 0.5, "tau": 1})
assert wandb.config.as_dict() == {"lr": 0.1, "gamma": 0.9, "tau": 1}

made = []
for _ in range(3):
    env = gym.wrappers.RecordEpisodeStatistics(gym.make("Bare-v0"))
    env.reset()
    env.step(0)
    made.append(weakref.ref(env.unwrapped))
del env
gc.collect()
assert [one for one in made if one() is not None] == [], "environments without a holder are kept"

env = gym.wrappers.RecordVideo(
    gym.make("Odd-v0", render_mode="rgb_array"), "videos/odd", episode_trigger=lambda _: True
)
env.reset()
env.step(0)
env.close()

process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
assert process.exitcode == 0

writer = SummaryWriter("runs/awkward")
writer.add_scalar("charts/episodic_return", 1.0, 5)
writer.add_scalar("charts/episodic_length", float("nan"), 5)
writer.add_scalar("charts/no_step", 2.0, -1)
writer.add_scalar("charts/episodic_return", 7.0, 6)
