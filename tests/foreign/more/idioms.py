"""What scripts for Gymnasium 0.29 take for granted, each with its assertion."""

import functools

import gymnasium as gym
import numpy as np
import torch
from gymnasium.wrappers import FrameStack, GrayScaleObservation
from gymnasium.wrappers.record_episode_statistics import RecordEpisodeStatistics
from torch.utils.tensorboard import SummaryWriter


class Counter(gym.Env):
    """Counts to three; the observation is the count."""

    metadata = {"render_modes": []}
    observation_space = gym.spaces.Box(0, 255, (8, 8, 3), np.uint8)
    action_space = gym.spaces.Discrete(2)
    favourite = "three"

    def __init__(self, truncates=False):
        self.truncates = truncates

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return np.full((8, 8, 3), 0, np.uint8), {"count": 0}

    def step(self, action):
        self.count += 1
        over = self.count == 3
        obs = np.full((8, 8, 3), self.count, np.uint8)
        return obs, 1.5, over and not self.truncates, over and self.truncates, {"count": self.count}


def check_vector(cls):
    envs = cls([lambda: RecordEpisodeStatistics(Counter()), lambda: RecordEpisodeStatistics(Counter(truncates=True))])
    assert envs.is_vector_env
    envs.reset(seed=1)
    for _ in range(2):
        infos = envs.step(np.zeros(2, int))[-1]
        assert "final_info" not in infos
    obs, rewards, terminations, truncations, infos = envs.step(np.zeros(2, int))
    # Reset in the same step, with the reward of the last action.
    assert obs.max() == 0
    assert rewards.tolist() == [1.5, 1.5]
    assert terminations.tolist() == [True, False]
    assert truncations.tolist() == [False, True]
    assert infos["_final_observation"].all()
    assert all(one.max() == 3 for one in infos["final_observation"])
    for info in infos["final_info"]:
        episode = info["episode"]
        assert info["count"] == 3
        assert episode["r"][0] == 4.5
        assert float(episode["r"]) == 4.5
        assert f"{episode['r']:.2f}" == "4.50"
        assert str(episode["r"]) == "[4.5]"
        assert int(episode["l"]) == 3
    obs = envs.step(np.zeros(2, int))[0]
    assert obs.max() == 1
    envs.close()


def check_wrappers():
    env = gym.wrappers.AutoResetWrapper(Counter())
    env.reset()
    env.step(0)
    env.step(0)
    obs, reward, terminated, _truncated, info = env.step(0)
    assert (obs.max(), reward, terminated) == (0, 1.5, True)
    assert info["final_observation"].max() == 3
    assert info["final_info"]["count"] == 3
    assert env.favourite == "three"

    env = gym.wrappers.TransformObservation(Counter(), lambda obs: obs // 2)
    assert env.observation_space == Counter.observation_space
    env = FrameStack(GrayScaleObservation(gym.wrappers.ResizeObservation(Counter(), 84)), 4)
    assert np.array(env.reset()[0]).shape == (4, 84, 84)
    assert env.num_stack == 4

    env = RecordEpisodeStatistics(Counter(), deque_size=5)
    env.reset()
    for _ in range(3):
        info = env.step(0)[-1]
    assert info["episode"]["r"].shape == (1,)

    envs = gym.wrappers.RecordEpisodeStatistics(gym.vector.SyncVectorEnv([Counter]))
    envs.reset()
    for _ in range(3):
        infos = envs.step(np.zeros(1, int))[-1]
    assert infos["episode"]["r"].tolist() == [4.5]
    assert issubclass(gym.vector.VectorEnvWrapper, gym.vector.VectorEnv)


def check_names():
    env = gym.make("PongNoFrameskip-v4")  # ale_py was not imported
    assert env.unwrapped.get_action_meanings()[0] == "NOOP"
    env.close()


def check_model():
    torch.save(torch.nn.Linear(2, 2), "whole.pt")  # a whole module, as before torch 2.6
    assert torch.load("whole.pt").in_features == 2


def check_make():
    envs = gym.vector.make("CartPole-v1", num_envs=2, asynchronous=False)
    assert envs.reset(seed=1)[0].shape == (2, 4)
    env = gym.make("CartPole-v1", autoreset=True, apply_api_compatibility=False)
    env.reset(seed=1)
    over = False
    while not over:
        *_, over, _truncated, info = env.step(0)
    assert "final_observation" in info


check_model()
check_make()
check_vector(gym.vector.SyncVectorEnv)
check_vector(gym.vector.AsyncVectorEnv)
check_wrappers()
check_names()
with SummaryWriter("runs/idioms") as writer:
    writer.add_scalar("checks/passed", 1, functools.reduce(int.__add__, [1]))
