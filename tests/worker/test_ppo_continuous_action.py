"""PPO for continuous actions: its normalisers against Gymnasium's wrappers, its clipping, its policy file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import wrappers

from cleanrl_worker.algorithms import ppo_continuous_action as ppo
from cleanrl_worker.sdk import policy
from cleanrl_worker.sdk.normalise import Moments, ObservationNormaliser, RewardNormaliser
from cleanrl_worker.sdk.run import Run, RunSpec
from mosaic import config
from mosaic.envs import make_vec
from mosaic.spec.run_config import TrainOptions
from mosaic.spec.run_dir import RunDir, new_run_id

SHORT = ppo.Args(cuda=False, env_id="test/Target-v0", total_timesteps=512, num_envs=2, num_steps=64, num_minibatches=4)


class Target(gym.Env[Any, Any]):
    """A matrix of actions within ±0.5; refuses what lies outside."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (2, 2), np.float64)
    action_space = gym.spaces.Box(-0.5, 0.5, (2, 2), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self.np_random.normal(7, 3, (2, 2)), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        terminated = bool(self.np_random.random() < 0.1)
        return self.np_random.normal(7, 3, (2, 2)), float(action.sum()), terminated, False, {}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    gym.register("test/Target-v0", Target, max_episode_steps=20)
    yield
    del gym.registry["test/Target-v0"]


def trained(folder: Path, args: ppo.Args) -> Run:
    run_dir = RunDir(folder / new_run_id())
    run_dir.create()
    spec = RunSpec(
        run_dir=run_dir,
        algo="ppo_continuous_action",
        args=config.to_json(args),
        options=TrainOptions(fastlane_enabled=False),
        tensorboard=False,
        quiet=True,
    )
    with Run(spec) as run:
        ppo.train(run, args)
    return run


def upstreams_env(env_id: str) -> gym.Env[Any, Any]:
    """CleanRL's stack of wrappers, but for those that only record."""
    env = gym.make(env_id)
    env = wrappers.ClipAction(env)
    env = wrappers.NormalizeObservation(env)
    env = wrappers.TransformObservation(env, lambda obs: np.clip(obs, -10, 10), env.observation_space)
    env = wrappers.NormalizeReward(env, gamma=0.97)
    return wrappers.TransformReward(env, lambda reward: np.clip(reward, -10, 10))


@pytest.mark.parametrize(
    ("env_id", "ends"),
    [("InvertedPendulum-v5", "terminated"), ("Pendulum-v1", "truncated"), ("HalfCheetah-v5", "never")],
)
def test_one_environment_is_normalised_as_by_gymnasiums_wrappers(env_id: str, ends: str) -> None:
    theirs, ours = upstreams_env(env_id), make_vec(env_id, 1)
    observations = ObservationNormaliser(ours.single_observation_space.shape or ())
    rewards = RewardNormaliser(1, gamma=0.97)
    theirs.action_space.seed(3)
    expected, _ = theirs.reset(seed=5)
    obs = observations.next(ours.reset(seed=5)[0], {})
    np.testing.assert_allclose(obs[0], expected, rtol=1e-5, atol=1e-5)
    endings, got, scaled = 0, ([], []), []
    for _ in range(450):
        action = 1.2 * theirs.action_space.sample()
        expected, reward, terminated, truncated, _ = theirs.step(action)
        scaled.append(reward)
        if terminated or truncated:
            endings += 1
            expected, _ = theirs.reset()
        clipped = action[None].clip(ours.single_action_space.low, ours.single_action_space.high)
        raw, raw_reward, *(terminations, _), infos = ours.step(clipped)
        obs = observations.next(raw, infos)
        got[0].append(raw_reward)
        got[1].append(terminations)
        np.testing.assert_allclose(obs[0], expected, rtol=1e-5, atol=1e-5)
    assert endings > 0 or ends == "never"
    # In two rollouts: the second goes on from the state of the first.
    cuts = (slice(0, 200), slice(200, 450))
    normalised = np.concatenate([rewards.rollout(*(np.array(column)[cut] for column in got)) for cut in cuts])
    np.testing.assert_allclose(normalised[:, 0], np.array(scaled, dtype=np.float64), rtol=1e-6, atol=1e-6)


def test_all_environments_share_one_set_of_moments() -> None:
    rng = np.random.default_rng(0)
    data = rng.normal(100, 0.01, (50, 4, 3))
    moments = Moments((3,))
    for batch in data:
        moments.update(batch)
    # Gymnasium's prior (a ten-thousandth of a sample at 0) still shows in the variance of values so far from 0.
    prior = 1e-4 * 100**2 / 200
    np.testing.assert_allclose(moments.mean[0], data.mean((0, 1)), rtol=1e-6)
    np.testing.assert_allclose(moments.var[0], data.var((0, 1)) + prior, rtol=1e-2)
    rewards = RewardNormaliser(4, gamma=0.0)
    scaled = rewards.rollout(data[:, :, 0] - 100, np.zeros((50, 4), np.bool_))
    np.testing.assert_allclose(scaled[-1], (data[-1, :, 0] - 100) / (data[:, :, 0].std() + 1e-8), rtol=1e-2)


def test_the_last_and_the_first_observation_of_episodes_are_learnt_from() -> None:
    normaliser, reference = ObservationNormaliser((1,)), Moments((1,))
    obs, final = np.array([[1.0], [2.0], [3.0]]), np.array([[9.0], [2.0], [8.0]])
    normaliser.next(obs, {"final_obs": final, "_final_obs": np.array([True, False, True])})
    reference.update(final)
    reference.update(obs[[0, 2]])
    assert (normaliser.mean[0], normaliser.var[0], normaliser.count) == (
        reference.mean[0],
        reference.var[0],
        reference.count,
    )


def test_normalisers_go_on_bit_for_bit_from_a_saved_state() -> None:
    rng = np.random.default_rng(0)
    data, ends = rng.normal(size=(20, 2, 3)), rng.random((20, 2)) < 0.2
    observations, rewards = ObservationNormaliser((3,)), RewardNormaliser(2, 0.9)
    for obs in data[:10]:
        observations.next(obs, {})
    rewards.rollout(data[:10, :, 0], ends[:10])
    saved = [{key: np.array(value) for key, value in part.state().items()} for part in (observations, rewards)]
    results = []
    for one, two in ((observations, rewards), (ObservationNormaliser((3,)), RewardNormaliser(2, 0.9))):
        one.load(saved[0])
        two.load(saved[1])
        results.append([*(one.next(obs, {}) for obs in data[10:]), two.rollout(data[10:, :, 0], ends[10:])])
    for mine, again in zip(*results, strict=True):
        np.testing.assert_array_equal(mine, again)


def test_the_policy_file_acts_on_raw_observations_as_the_agent_did(tmp_path: Path) -> None:
    run = trained(tmp_path, SHORT)
    file = policy.read(next(run.run_dir.root.rglob("*.cleanrl_model")))
    moments = file.group("observation_normaliser")
    np.testing.assert_allclose(moments["mean"], 7, atol=1)
    np.testing.assert_allclose(moments["var"], 9, atol=3)
    assert file.group("return_normaliser").keys() == {"mean", "var", "count", "returns"}
    agent = ppo.Agent(file.observation_space, file.action_space)
    agent.load_state_dict(file.weights())
    with torch.no_grad():
        # So that some actions leave the box and some do not.
        agent.actor_mean[-1].weight *= 5
    for name, weight in agent.state_dict().items():
        file.arrays[f"agent.{name}"][...] = weight.numpy()
    loaded, rng = ppo.load(file), np.random.default_rng(0)
    obs = rng.normal(7, 3, (500, 2, 2)).astype(np.float32)
    inputs = ((obs - moments["mean"]) / np.sqrt(moments["var"] + 1e-8)).clip(-10, 10).reshape(500, 4)
    mean = agent.actor_mean(torch.tensor(inputs, dtype=torch.float32)).detach().numpy().reshape(500, 2, 2)
    expected = mean.clip(-0.5, 0.5)
    assert 0.1 < np.mean(expected != mean) < 0.9
    first = loaded.act(obs, rng, deterministic=True)
    np.testing.assert_allclose(first, expected, atol=1e-4)
    np.testing.assert_array_equal(loaded.act(obs, rng, deterministic=True), first)
    drawn = loaded.act(obs, rng, deterministic=False)
    assert all(map(file.action_space.contains, drawn))
    assert not np.allclose(drawn, first)


def test_advantages_are_made_of_normalised_rewards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Constant(RewardNormaliser):
        def rollout(self, rewards: Any, terminations: Any) -> Any:
            return np.full_like(super().rollout(rewards, terminations), 0.25)

    def spy(rewards: Any, values: Any, dones: Any, **settings: float) -> Any:
        assert (rewards == 0.25).all()
        return gae(rewards, values, dones, **settings)

    gae = ppo.gae
    monkeypatch.setattr(ppo, "RewardNormaliser", Constant)
    monkeypatch.setattr(ppo, "gae", spy)
    assert trained(tmp_path, SHORT).global_step == 512


def test_a_run_is_the_same_again_and_differs_by_seed(tmp_path: Path) -> None:
    arrays = []
    for seed in (1, 1, 2):
        run = trained(tmp_path, ppo.Args(**{**vars(SHORT), "seed": seed}))
        arrays.append(policy.read(next(run.run_dir.root.rglob("*.cleanrl_model"))).arrays)
    for name in arrays[0]:
        np.testing.assert_array_equal(arrays[0][name], arrays[1][name])
    assert not np.array_equal(arrays[0]["agent.critic.0.weight"], arrays[2]["agent.critic.0.weight"])
