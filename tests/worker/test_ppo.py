"""PPO, categorical and Gaussian: the maths against autograd and plain loops, exact resume, and that it learns."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from cleanrl_worker.algorithms import ppo, ppo_continuous_action
from cleanrl_worker.sdk import policy
from cleanrl_worker.sdk.checkpoints import checkpoint
from cleanrl_worker.sdk.run import Run, RunSpec
from mosaic import config
from mosaic.errors import ConfigError
from mosaic.spec.run_config import TrainOptions
from mosaic.spec.run_dir import RunDir, new_run_id

OBSERVATIONS = gym.spaces.Box(-1, 1, (5,), np.float32)
ACTIONS = {ppo: gym.spaces.Discrete(3), ppo_continuous_action: gym.spaces.Box(-1, 1, (3,), np.float32)}
COEFFICIENTS = {"learning_rate": 1e-4, "clip_coef": 0.2, "ent_coef": 0.02, "vf_coef": 0.5}
FIRST = {
    ppo: ppo.Args(cuda=False, total_timesteps=1_024, num_envs=2, num_steps=64),
    ppo_continuous_action: ppo_continuous_action.Args(
        cuda=False, env_id="Pendulum-v1", total_timesteps=1_024, num_envs=2, num_steps=64, num_minibatches=4
    ),
}

both = pytest.mark.parametrize("algorithm", [ppo, ppo_continuous_action], ids=lambda module: module.__name__)


class Echo(gym.Env[Any, Any]):
    """Rewards the action that the observation names; ten steps an episode."""

    observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)
    shown = 0

    def __init__(self, continuous: bool) -> None:
        self.action_space = gym.spaces.Box(-1, 1, (3,), np.float32) if continuous else gym.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self._show(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if isinstance(self.action_space, gym.spaces.Discrete):
            reward = float(action == self.shown)
        else:
            reward = 1.0 - float(np.abs(action - np.eye(3)[self.shown]).mean())
        return self._show(), reward, False, False, {}

    def _show(self) -> Any:
        self.shown = int(self.np_random.integers(3))
        return np.eye(3, dtype=np.float32)[self.shown]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    for env_id, continuous in (("test/Echo-v0", False), ("test/EchoContinuous-v0", True)):
        gym.register(env_id, Echo, max_episode_steps=10, kwargs={"continuous": continuous})
    yield
    for env_id in ("test/Echo-v0", "test/EchoContinuous-v0"):
        del gym.registry[env_id]


class StoppedRun(Run):
    """Is asked to stop when it logs at step 500 or later."""

    def scalars(self, values: Mapping[str, float]) -> None:
        super().scalars(values)
        self.stopping = self.global_step >= 500


def trained(
    folder: Path, algorithm: ModuleType, args: Any, *, kind: type[Run] = Run, resume_from: Path | None = None
) -> Run:
    run_dir = RunDir(folder if resume_from else folder / new_run_id())
    run_dir.create()
    spec = RunSpec(
        run_dir=run_dir,
        algo=algorithm.__name__.rpartition(".")[2],
        args=config.to_json(args),
        options=TrainOptions(fastlane_enabled=False),
        tensorboard=False,
        quiet=True,
        resume_from=resume_from,
    )
    with kind(spec) as run:
        algorithm.train(run, args)
    return run


def last_state(run: Run) -> dict[str, Any]:
    return checkpoint.load(checkpoint.latest(run.run_dir), algo=run.spec.algo)[1]


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, dtype=np.float32)


def new_agent(algorithm: ModuleType) -> Any:
    torch.manual_seed(0)
    agent = algorithm.Agent(OBSERVATIONS, ACTIONS[algorithm])
    with torch.no_grad():
        # Away from the small initial output layer, so that the policy's gradient is not lost beside the critic's.
        for parameter in agent.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return agent


def some_batch(algorithm: ModuleType, learner: Any, *, offset: float, rows: int = 64) -> Any:
    """A minibatch whose old log-probabilities and values lie `offset` away from the agent's."""
    rng = np.random.default_rng(rows)
    obs = normal(rng, rows, 5)
    actions = rng.integers(0, 3, rows) if algorithm is ppo else normal(rng, rows, 3)
    return algorithm.Batch(
        obs=obs,
        actions=actions,
        logprobs=learner.log_probs(obs, actions) + offset * normal(rng, rows),
        advantages=3 * normal(rng, rows) + 1,
        returns=normal(rng, rows),
        values=learner.values(obs) + offset * normal(rng, rows),
    )


@both
@pytest.mark.parametrize("offset", [0.0, 0.05, 0.3, 2.0], ids=["first", "near", "at the clip border", "far"])
@pytest.mark.parametrize("clip_vloss", [True, False])
@pytest.mark.parametrize("norm_adv", [True, False])
def test_the_numpy_gradient_is_the_gradient_of_the_definition(
    algorithm: ModuleType, offset: float, clip_vloss: bool, norm_adv: bool
) -> None:
    agent, args = new_agent(algorithm), replace(FIRST[algorithm], clip_vloss=clip_vloss)
    learner = algorithm.FastLearner(agent, args)
    batch = some_batch(algorithm, learner, offset=offset)
    if norm_adv:
        batch = batch._replace(advantages=algorithm.normalised(batch.advantages))
    losses = learner.gradient(batch, algorithm.Coefficients(**COEFFICIENTS))
    by_hand = learner.parameters.gradient.copy()
    learner.parameters.gradient[:] = 0
    tensors = {name: torch.as_tensor(value) for name, value in (batch._asdict() | COEFFICIENTS).items()}
    loss, logged = algorithm.ppo_loss(agent, tensors, args)
    loss.backward()
    np.testing.assert_allclose(by_hand, learner.parameters.gradient, atol=1e-5, rtol=1e-4)
    for name, gradient in learner.parameters.gradient_of.items():
        assert np.abs(gradient).max() > 1e-3, name
    for name, value in logged.items():
        assert losses[name] == pytest.approx(value.item(), rel=1e-4, abs=1e-5), name


@both
def test_both_learners_make_the_same_updates(algorithm: ModuleType) -> None:
    args = FIRST[algorithm]
    fast = algorithm.FastLearner(new_agent(algorithm), args)
    coefficients = algorithm.Coefficients(**COEFFICIENTS)
    slow_agent = new_agent(algorithm)
    slow = algorithm.Learner(slow_agent, args, torch.device("cpu"))
    for step in range(10):
        batch = some_batch(algorithm, slow, offset=0.2, rows=64 + step)
        expected = pytest.approx(slow.update(batch, coefficients), rel=1e-3, abs=1e-4)
        assert fast.update(batch, coefficients) == expected
    for name, parameter in slow_agent.named_parameters():
        np.testing.assert_allclose(fast.parameters.value_of[name], parameter.detach().numpy(), atol=1e-5)
    noise = normal(np.random.default_rng(0), len(batch.obs), 3)
    np.testing.assert_allclose(fast.act(batch.obs, noise), slow.act(batch.obs, noise), atol=1e-5)
    np.testing.assert_allclose(fast.values(batch.obs), slow.values(batch.obs), atol=1e-5)


@both
def test_gae_sums_discounted_errors_up_to_the_episodes_end(algorithm: ModuleType) -> None:
    rng = np.random.default_rng(0)
    rewards, values = normal(rng, 40, 3), normal(rng, 41, 3)
    dones = (rng.random((40, 3)) < 0.15).astype(np.float32)
    advantages, returns = algorithm.gae(rewards, values, dones, gamma=0.9, gae_lambda=0.8)
    for env in range(3):
        for start in range(40):
            expected, weight = 0.0, 1.0
            for step in range(start, 40):
                goes_on = 1.0 - dones[step, env]
                expected += weight * (rewards[step, env] + 0.9 * goes_on * values[step + 1, env] - values[step, env])
                weight *= 0.9 * 0.8 * goes_on
            assert advantages[start, env] == pytest.approx(expected, abs=1e-5)
            assert returns[start, env] == pytest.approx(expected + values[start, env], abs=1e-5)


@both
def test_an_episodes_end_is_seen_by_the_step_that_ended_it(
    algorithm: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[np.ndarray] = []
    gae = algorithm.gae

    def spy(rewards: Any, values: Any, dones: Any, **settings: float) -> Any:
        seen.append(dones[:, 0].copy())
        return gae(rewards, values, dones, **settings)

    monkeypatch.setattr(algorithm, "gae", spy)
    env_id = "test/Echo-v0" if algorithm is ppo else "test/EchoContinuous-v0"
    trained(tmp_path, algorithm, replace(FIRST[algorithm], env_id=env_id))
    np.testing.assert_array_equal(np.flatnonzero(np.concatenate(seen)), np.arange(9, 512, 10))


@both
def test_what_lies_beyond_a_time_limit_counts_when_asked(
    algorithm: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    env_id = "test/Echo-v0" if algorithm is ppo else "test/EchoContinuous-v0"
    rewards: list[np.ndarray] = []
    foreseen: list[np.ndarray] = []
    gae, values = algorithm.gae, algorithm.FastLearner.values

    def seen_gae(scaled: np.ndarray, *rest: Any, **settings: Any) -> Any:
        rewards.append(scaled.copy())
        return gae(scaled, *rest, **settings)

    def seen_values(learner: Any, obs: np.ndarray) -> np.ndarray:
        found = values(learner, obs)
        if len(obs) == 2:  # the two environments end together; a whole rollout has more rows
            foreseen.append(found)
        return found

    monkeypatch.setattr(algorithm, "gae", seen_gae)
    monkeypatch.setattr(algorithm, "guarded", lambda run, plain, fast: fast())
    monkeypatch.setattr(algorithm.FastLearner, "values", seen_values)
    for bootstrap in (False, True):
        args = replace(FIRST[algorithm], env_id=env_id, total_timesteps=128, bootstrap_truncated=bootstrap)
        trained(tmp_path / str(bootstrap), algorithm, args)
    added = rewards[1] - rewards[0]
    ends = np.arange(9, 64, 10)
    assert len(foreseen) == len(ends)
    np.testing.assert_allclose(added[ends], FIRST[algorithm].gamma * np.array(foreseen), rtol=1e-4, atol=1e-6)
    assert not np.delete(added, ends, axis=0).any()


@both
def test_advantages_are_normalised_as_torch_does_it(algorithm: ModuleType) -> None:
    advantages = 100 + 3 * normal(np.random.default_rng(0), 64)
    tensor = torch.from_numpy(advantages)
    expected = (tensor - tensor.mean()) / (tensor.std() + 1e-8)
    np.testing.assert_allclose(algorithm.normalised(advantages), expected, atol=1e-4)
    np.testing.assert_array_equal(algorithm.normalised(advantages[:1]), advantages[:1])


@both
def test_explained_variance_tells_a_good_critic_from_a_useless_one(algorithm: ModuleType) -> None:
    returns = normal(np.random.default_rng(0), 100)
    assert algorithm.explained_variance(returns + 5, returns) == pytest.approx(1)
    assert algorithm.explained_variance(0 * returns, returns) == pytest.approx(0)
    assert np.isnan(algorithm.explained_variance(returns, np.ones(100)))


@both
def test_epochs_stop_once_the_policy_has_moved_by_target_kl(algorithm: ModuleType, tmp_path: Path) -> None:
    args = replace(FIRST[algorithm], total_timesteps=128)
    steps = []
    for target_kl in (None, 1e-9):
        run = trained(tmp_path, algorithm, replace(args, target_kl=target_kl))
        steps.append(last_state(run)["algorithm"]["learner"]["adam"]["steps"])
    assert steps == [args.update_epochs * args.num_minibatches, args.num_minibatches]


@both
@pytest.mark.parametrize("anneal_lr", [True, False])
def test_the_learner_is_handed_each_step_once_an_epoch_as_the_policy_saw_it(
    algorithm: ModuleType, anneal_lr: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = replace(FIRST[algorithm], total_timesteps=512, anneal_lr=anneal_lr)
    rates: list[float] = []
    epochs: list[np.ndarray] = []

    class Noting(algorithm.FastLearner):
        def update(self, batch: Any, coefficients: Any) -> Any:
            if len(rates) % (args.update_epochs * args.num_minibatches) == 0:
                # Nothing was learnt from this rollout yet, so both are still those of the policy that collected it.
                np.testing.assert_allclose(batch.logprobs, self.log_probs(batch.obs, batch.actions), atol=1e-5)
                np.testing.assert_allclose(batch.values, self.values(batch.obs), atol=1e-5)
            assert abs(batch.advantages.mean()) < 1e-5
            assert batch.advantages.std(ddof=1) == pytest.approx(1, abs=1e-5)
            rates.append(coefficients.learning_rate)
            epochs.append(batch.obs.copy())
            return super().update(batch, coefficients)

    monkeypatch.setattr(algorithm, "guarded", lambda run, plain, fast: fast())
    monkeypatch.setattr(algorithm, "FastLearner", Noting)
    trained(tmp_path, algorithm, args)
    each = args.update_epochs * args.num_minibatches
    expected = [args.learning_rate * (1 - iteration / 4 * anneal_lr) for iteration in range(4)]
    np.testing.assert_allclose(rates, np.repeat(expected, each))
    rollouts = np.array(epochs).reshape(4, args.update_epochs, args.batch_size, -1)
    for rollout in rollouts:
        first, *others = [epoch[np.lexsort(epoch.T)] for epoch in rollout]
        assert all(np.array_equal(first, other) for other in others)
        assert not any(np.array_equal(rollout[0], other) for other in rollout[1:])


@both
def test_resuming_a_stopped_run_ends_in_the_same_state(algorithm: ModuleType, tmp_path: Path) -> None:
    args = FIRST[algorithm]
    straight = trained(tmp_path, algorithm, args)
    stopped = trained(tmp_path, algorithm, args, kind=StoppedRun)
    assert stopped.global_step == 512
    resumed = trained(stopped.run_dir.root, algorithm, args, resume_from=checkpoint.latest(stopped.run_dir))
    assert resumed.global_step == 1_024
    assert_same(last_state(resumed), last_state(straight))


def assert_same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            assert_same(mine, theirs)
    else:
        np.testing.assert_array_equal(one, other)


def test_a_loaded_policy_acts_as_the_trained_agent(tmp_path: Path) -> None:
    file = policy.read(next(trained(tmp_path, ppo, FIRST[ppo]).run_dir.root.rglob("*.cleanrl_model")))
    agent = ppo.Agent(file.observation_space, file.action_space)
    agent.load_state_dict(file.weights())
    obs = normal(np.random.default_rng(0), 500, 4)
    logits = agent.actor(torch.from_numpy(obs)).detach()
    loaded = ppo.load(file)
    np.testing.assert_array_equal(loaded.act(obs, np.random.default_rng(1), deterministic=True), logits.argmax(1))
    same, rng = np.repeat(obs[:1], 20_000, axis=0), np.random.default_rng(1)
    drawn = np.bincount(loaded.act(same, rng, deterministic=False)) / len(same)
    np.testing.assert_allclose(drawn, logits[0].softmax(0), atol=0.02)


@both
@pytest.mark.parametrize(
    ("settings", "message"),
    [({"num_minibatches": 129}, "num_minibatches: is 129"), ({"total_timesteps": 127}, "nothing would be learnt")],
)
def test_settings_that_cannot_train_are_refused(algorithm: ModuleType, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config.from_json(algorithm.Args, config.to_json(FIRST[algorithm]) | settings)


@both
def test_learns_to_do_what_it_is_shown(algorithm: ModuleType, tmp_path: Path) -> None:
    env_id = "test/Echo-v0" if algorithm is ppo else "test/EchoContinuous-v0"
    args = replace(FIRST[algorithm], env_id=env_id, total_timesteps=12_800, learning_rate=3e-3, gamma=0.5)
    returns = last_state(trained(tmp_path, algorithm, args))["recent_returns"]
    # Random actions get 3.3 and 3.8 of 10; an untrained Gaussian that is always 0 gets 6.7.
    assert np.mean(returns[-20:]) > (9 if algorithm is ppo else 7.5)
