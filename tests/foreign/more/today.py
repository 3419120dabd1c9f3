"""A vector environment as Gymnasium 1.x has it: reset at the next step, and told apart by masks."""

import gymnasium as gym
import numpy as np
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter("runs/today")
envs = gym.vector.SyncVectorEnv(
    [lambda: gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1")) for _ in range(3)]
)
assert envs.metadata["autoreset_mode"] == gym.vector.AutoresetMode.NEXT_STEP
rng = np.random.default_rng(5)
obs, infos = envs.reset(seed=5)
for step in range(1, 400):
    obs, rewards, terminations, truncations, infos = envs.step(rng.integers(0, 2, 3))
    for slot in np.flatnonzero(infos.get("_episode", [])):
        writer.add_scalar("charts/episodic_return", infos["episode"]["r"][slot], step)
        writer.add_scalar("charts/episodic_length", infos["episode"]["l"][slot], step)
    writer.add_scalar("charts/checksum", float(np.abs(obs).sum()), step)
writer.close()
