"""Counts steps and episodes of environments made and wrapped in many ways; says so if every number is right."""

import copy
import math
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from cleanrl_worker.foreign.environment_patches import EnvironmentPatches
from cleanrl_worker.foreign.step_counts import StepCounts

counts = StepCounts()
shown_environments = SimpleNamespace(wanted=False, slots=[], made={}, look=lambda: None, leave=lambda slot: None)
shown_environments.eye = SimpleNamespace(due_at=math.inf)
shown_environments.enter = lambda slot: shown_environments.slots.append(slot) or len(shown_environments.slots) - 1
EnvironmentPatches(shown_environments, counts, old=False).change()


class Line(gym.Env):
    """Twelve steps with a reward of 2 each."""

    observation_space = gym.spaces.Box(0, 20, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)
    length = 12

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.at += 1
        return np.full(1, self.at, np.float32), 2, self.at == self.length, False, {}


class Longer(Line):
    length = 14

    def step(self, action):
        return super().step(action)


class Strange(Line):
    def step(self, action):
        return (*super().step(action)[:1], None, False, False, {})


class Closed(Line):
    def __setattr__(self, name, value):
        if name != "at":
            raise AttributeError(name)
        super().__setattr__(name, value)


class Repeated(gym.Wrapper):
    """An action lasts four steps."""

    def step(self, action):
        total = 0
        for _ in range(4):
            *rest, terminated, truncated, info = self.env.step(action)
            total += rest[1]
            if terminated or truncated:
                break
        return rest[0], total, terminated, truncated, info


class Lives(gym.Wrapper):
    """Every life is an episode; a reward is its sign. The first step of a game is none of the script's."""

    def __init__(self, env):
        super().__init__(env)
        self.begun, self.over = 0, True

    def reset(self, **kwargs):
        if self.over:
            self.env.reset(**kwargs)
            self.over = False
        return self.env.step(0)[0], {}

    def step(self, action):
        obs, _, self.over, truncated, info = self.env.step(action)
        self.begun += 1
        return obs, 1, self.over or self.begun % 2 == 0, truncated, info


class Hasty(gym.Wrapper):
    """Ends after five steps."""

    def reset(self, **kwargs):
        self.steps = 0
        return self.env.reset(**kwargs)

    def step(self, action):
        obs, reward, terminated, _, info = self.env.step(action)
        self.steps += 1
        return obs, reward, terminated, self.steps == 5, info


def played(env, steps):
    """Steps and episodes that were counted meanwhile."""
    before = counts.steps
    counts.ended.clear()
    env.reset(seed=1)
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(0)
        if terminated or truncated:
            env.reset()
    return counts.steps - before, [(one.episodic_return, one.length) for one in counts.ended]


gym.register("Line-v0", Line, max_episode_steps=10)
gym.register("Endless-v0", Line)
made = "Line-v0"
assert played(gym.make(made), 25) == (25, [(20.0, 10)] * 2)
assert played(gym.make("Endless-v0"), 25) == (25, [(24.0, 12)] * 2)
assert played(Line(), 25) == (25, [(24.0, 12)] * 2)
assert played(Longer(), 28) == (28, [(28.0, 14)] * 2)
assert played(gym.make("Endless-v0"), 12) == (12, [(24.0, 12)])
assert played(gym.wrappers.TimeLimit(Line(), 5), 10) == (10, [(10.0, 5)] * 2)
assert played(Repeated(Line()), 6) == (6, [(24.0, 3)] * 2)
assert played(Repeated(gym.make("Endless-v0")), 6) == (6, [(24.0, 3)] * 2)
assert played(gym.wrappers.MaxAndSkipObservation(gym.make("Endless-v0"), 4), 6) == (6, [(24.0, 3)] * 2)
assert played(Hasty(Line()), 11) == (11, [(10.0, 5)] * 2)
steps, episodes = played(Lives(gym.make("Endless-v0")), 16)
assert (steps, episodes) == (16, [(24.0, 8)] * 2), (steps, episodes)
assert played(Strange(), 3)[1] == []
assert played(Closed(), 13) == (0, [])

# An episode that the script breaks off is none, and a copy is for looking ahead.
env = gym.make("Endless-v0")
assert played(env, 5) == (5, [])
ahead = copy.deepcopy(env)
before = counts.steps
ahead.step(0)
env.step(0)
assert counts.steps == before + 1

for vector in (SyncVectorEnv, AsyncVectorEnv):
    before = counts.steps
    counts.ended.clear()
    envs = vector([lambda: gym.wrappers.RecordEpisodeStatistics(gym.make("Endless-v0"))] * 2)
    envs.reset(seed=1)
    for _ in range(13):
        envs.step(np.zeros(2, int))
    envs.close()
    # The thirteenth step is a reset.
    assert counts.steps - before == 24
    assert sorted((one.slot % 2, one.episodic_return, one.length) for one in counts.ended) == [(0, 24, 12), (1, 24, 12)]

before = counts.steps
counts.ended.clear()
envs = gym.make_vec("CartPole-v1", num_envs=3, vectorization_mode="vector_entry_point")
envs.reset(seed=1)
for _ in range(60):
    envs.step(np.zeros(3, int))
assert counts.ended
assert all(one.episodic_return == one.length for one in counts.ended)
assert sum(one.length for one in counts.ended) <= counts.steps - before < 180
print("all counted")
