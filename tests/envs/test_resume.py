"""A snapshot restored into a new vector environment goes on exactly, over the next episodes too."""

import json

import gymnasium
import numpy as np
import pytest

from mosaic.envs import VecEnv, make_vec
from mosaic.envs.vector import slot_history
from mosaic.errors import CheckpointError


def actions_for(envs: VecEnv, steps: int) -> list[np.ndarray]:
    space = envs.single_action_space
    space.seed(11)
    return [np.stack([space.sample() for _ in range(envs.num_envs)]) for _ in range(steps)]


def assert_same_future(one: VecEnv, other: VecEnv, actions: list[np.ndarray]) -> int:
    endings = 0
    assert np.array_equal(one.current_obs, other.current_obs)
    for each in actions:
        *expected, infos = one.step(each)
        *got, other_infos = other.step(each)
        assert all(map(np.array_equal, got, expected))
        for key in ("final_obs", "episode_return", "episode_length") if infos else ():
            endings += 1
            assert np.array_equal(infos[key], other_infos[key])
    return endings


def plain(value: object) -> object:
    """What JSON and numpy files can hold, and nothing else."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if isinstance(key, str)}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray):
        assert value.dtype != object
        return None
    assert value is None or type(value) in (bool, int, float, str), type(value)
    return value


CASES = [
    ("CartPole-v1", "bare", 777, 500),
    ("CartPole-v1", "sync", 777, 500),
    ("Pendulum-v1", "bare", 650, 500),
    ("HalfCheetah-v5", "bare", 1234, 900),
    ("LunarLander-v3", "bare", 400, 500),
    ("FrozenLake-v1", "bare", 333, 500),
    ("FrozenLake-v1", "sync", 333, 500),
    ("MiniGrid-Empty-5x5-v0", "bare", 333, 500),
    ("MiniGrid-Empty-5x5-v0", "sync", 150, 200),
    ("ALE/Breakout-v5", "bare", 200, 200),
    ("dm_control/finger-turn_hard-v0", "bare", 40, 1000),
    ("procgen/LeaperEasy-v0", "bare", 60, 600),
    ("envpool/Jumanji-Snake-v1", "bare", 30, 60),
    ("envpool/MetaWorld-Reach-v3", "bare", 20, 500),
    ("mosaic/Bricks-v0", "bare", 50, 100),
    ("mosaic/Divers-v0", "bare", 50, 400),
    ("mosaic/Fleet-v0", "bare", 50, 150),
    ("mosaic/Hunt-v0", "bare", 50, 300),
    ("mosaic/Lanes-v0", "bare", 50, 1000),
]


@pytest.mark.parametrize(("env_id", "backend", "before", "after"), CASES)
def test_restored_run_goes_on_exactly(env_id: str, backend: str, before: int, after: int) -> None:
    envs = make_vec(env_id, 2, backend=backend)
    envs.reset(seed=7)
    actions = actions_for(envs, before + after)
    for each in actions[:before]:
        envs.step(each)
    saved = envs.snapshot()
    json.dumps(plain(saved))
    again = make_vec(env_id, 2, backend=backend)
    assert again.restore(saved)
    assert assert_same_future(envs, again, actions[before:]) > 0
    third = make_vec(env_id, 2, backend=backend)
    assert third.restore(again.snapshot())
    assert assert_same_future(again, third, actions[:50]) >= 0


def test_async_slots_resume_exactly() -> None:
    envs = make_vec("CartPole-v1", 2, backend="async")
    envs.reset(seed=7)
    actions = actions_for(envs, 150)
    for each in actions[:90]:
        envs.step(each)
    saved = envs.snapshot()
    bare = make_vec("CartPole-v1", 2, backend="bare")
    assert bare.restore(saved)
    assert assert_same_future(envs, bare, actions[90:]) > 0
    envs.close()


class Lives(gymnasium.Wrapper):
    """An episode is a life: a reset after a lost life is a step, as in CleanRL's EpisodicLifeEnv."""

    lives = 0
    game_over = True

    def reset(self, *, seed=None, options=None):
        if self.game_over:
            obs, info = self.env.reset(seed=seed, options=options)
        else:
            obs, _, _, _, info = self.env.step(0)
        self.game_over, self.lives = False, info["lives"]
        return obs, info

    def step(self, action):
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.game_over = terminated or truncated
        lost, self.lives = info["lives"] < self.lives, info["lives"]
        return obs, reward, terminated or lost, truncated, info


@pytest.mark.parametrize("backend", ["bare", "sync"])
def test_lost_lives_are_replayed_from_the_last_real_reset(backend: str) -> None:
    def fresh() -> VecEnv:
        return make_vec("ALE/Breakout-v5", 2, backend=backend, wrappers=[Lives], obs_type="ram")

    envs = fresh()
    envs.reset(seed=3)
    actions = actions_for(envs, 400)
    for each in actions[:200]:
        envs.step(each)
    saved = envs.snapshot()
    assert any(slot["soft_resets"] for slot in saved["slots"])
    again = fresh()
    assert again.restore(saved)
    assert assert_same_future(envs, again, actions[200:]) > 0


def test_a_replay_that_ends_elsewhere_begins_a_fresh_episode_and_says_so() -> None:
    envs = make_vec("CartPole-v1", 1)
    envs.reset(seed=0)
    for _ in range(5):
        envs.step(np.array([1]))
    saved = envs.snapshot()
    saved["slots"][0]["actions"][2] = 0
    again = make_vec("CartPole-v1", 1)
    assert not again.restore(saved)
    assert (np.abs(again.current_obs) <= 0.05).all()
    for _ in range(30):
        infos = again.step(np.array([1]))[4]
        if infos:
            break
    assert infos["episode_length"][0] == infos["episode_return"][0] < 20


def test_an_episode_too_long_to_replay_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mosaic.envs.vector.bare_vector.LONGEST", 50)
    envs = make_vec("Pendulum-v1", 1)
    envs.reset(seed=0)
    for _ in range(60):
        envs.step(np.zeros((1, 1), dtype=np.float32))
    saved = envs.snapshot()
    assert not saved["slots"][0]["known"]
    assert len(saved["slots"][0]["actions"]) == 0
    assert not make_vec("Pendulum-v1", 1).restore(saved)


def test_record_does_not_grow_over_episodes() -> None:
    envs = make_vec("FrozenLake-v1", 2)
    envs.reset(seed=0)
    for actions in actions_for(envs, 10_000):
        envs.step(actions)
    assert len(envs._log) < 5000
    assert make_vec("FrozenLake-v1", 2).restore(envs.snapshot())


@pytest.mark.parametrize("backend", ["native", "envpool"])
def test_whole_backends_resume_with_fresh_episodes_and_say_so(backend: str) -> None:
    envs = make_vec("CartPole-v1", 2, backend=backend)
    start, _ = envs.reset(seed=5)
    envs.step(np.array([0, 1]))
    saved = envs.snapshot()
    again = make_vec("CartPole-v1", 2, backend=backend)
    assert not again.restore(saved)
    assert (np.abs(again.current_obs) <= 0.05).all()
    assert not np.array_equal(again.current_obs, start)
    once_more = make_vec("CartPole-v1", 2, backend=backend)
    once_more.restore(saved)
    assert np.array_equal(again.current_obs, once_more.current_obs)


def test_bipedal_walker_is_reported_as_approximate() -> None:
    envs = make_vec("BipedalWalker-v3", 1)
    envs.reset(seed=0)
    again = make_vec("BipedalWalker-v3", 1)
    assert not again.restore(envs.snapshot())


def test_a_foreign_snapshot_is_refused() -> None:
    envs = make_vec("CartPole-v1", 2)
    envs.reset(seed=0)
    saved = envs.snapshot()
    with pytest.raises(CheckpointError, match="slots"):
        make_vec("CartPole-v1", 3).restore(saved)
    with pytest.raises(CheckpointError, match="format"):
        make_vec("CartPole-v1", 2).restore(saved | {"format": slot_history.FORMAT + 1})
