"""A Minari data set of `worker_vectors:test/Aim-v0`: a good half of its episodes aims well, the others at random."""

import os
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import gymnasium as gym
import numpy as np
import worker_vectors  # noqa: F401

NAME = "suite/aim-v0"
EPISODES = 20


def record(folder: Path) -> None:
    """Into `folder`, as Minari lays data sets out."""
    # Only here: they take half a second to import.
    import minari
    from minari.data_collector.episode_buffer import EpisodeBuffer

    env = gym.make("test/Aim-v0", disable_env_checker=True)
    rng = np.random.default_rng(0)
    buffers: list[Any] = []
    for number in range(EPISODES):
        obs, _ = env.reset(seed=number)
        observations, actions, rewards = [obs], list[Any](), list[float]()
        done = False
        while not done:
            aimed = obs if number % 2 else rng.uniform(-1, 1, 1)
            actions.append(np.clip(aimed + 0.05 * rng.standard_normal(1), -1, 1).astype(np.float32))
            obs, reward, done, _, _ = env.step(actions[-1])
            observations.append(obs)
            rewards.append(float(reward))
        ends = [False] * (len(rewards) - 1) + [True]
        buffers.append(
            EpisodeBuffer(
                id=number,
                observations=observations,
                actions=actions,
                rewards=rewards,
                terminations=ends,
                truncations=[False] * len(ends),
            )
        )
    with mock.patch.dict(os.environ, {"MINARI_DATASETS_PATH": str(folder)}), warnings.catch_warnings():
        # About an author's address and the like, which are for those who publish a data set.
        warnings.simplefilter("ignore", UserWarning)
        minari.create_dataset_from_buffers(NAME, buffers, env=env, algorithm_name="half at random")
