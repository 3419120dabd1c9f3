"""DQN: its maths against autograd, its schedule against upstream's, what it stores, and that it goes on exactly."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from cleanrl_worker.algorithms import dqn
from cleanrl_worker.sdk import policy
from cleanrl_worker.sdk.checkpoints import checkpoint
from cleanrl_worker.sdk.fast.dqn import FastLearner
from cleanrl_worker.sdk.replay import Transitions
from cleanrl_worker.sdk.run import Run, RunSpec
from mosaic import config
from mosaic.spec.events import EventBody, Scalars
from mosaic.spec.run_config import TrainOptions
from mosaic.spec.run_dir import RunDir, new_run_id

OBSERVATIONS = gym.spaces.Box(-1, 1, (4,), np.float32)
ACTIONS = gym.spaces.Discrete(3)
SHORT = dqn.Args(
    cuda=False, total_timesteps=1_200, learning_starts=200, buffer_size=500, batch_size=32, target_network_frequency=150
)


COEFFICIENTS = dqn.Coefficients(learning_rate=1e-2, gamma=0.9)


class Sentence(gym.Env[Any, Any]):
    """Observes (episode, step); ends every second episode after 3 steps, and the time limit ends the others after 5."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)
    episode = -1
    clock = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.episode += 1
        self.clock = 0
        return np.array([self.episode, 0], np.float32), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.clock += 1
        terminated = self.episode % 2 == 0 and self.clock == 3
        return np.array([self.episode, self.clock], np.float32), float(action), terminated, False, {}


class Echo(gym.Env[Any, Any]):
    """Rewards the action that the observation names; ten steps an episode."""

    observation_space = gym.spaces.Box(0, 1, (3,), np.float32)
    action_space = gym.spaces.Discrete(3)
    shown = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self._show(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward = float(action == self.shown)
        return self._show(), reward, False, False, {}

    def _show(self) -> Any:
        self.shown = int(self.np_random.integers(3))
        return np.eye(3, dtype=np.float32)[self.shown]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    gym.register("test/Sentence-v0", Sentence, max_episode_steps=5)
    gym.register("test/Echo-v0", Echo, max_episode_steps=10)
    yield
    for env_id in ("test/Sentence-v0", "test/Echo-v0"):
        del gym.registry[env_id]


class StoppedRun(Run):
    """Is asked to stop when it logs at step 500 or later."""

    def scalars(self, values: Mapping[str, float]) -> None:
        super().scalars(values)
        self.stopping = self.global_step >= 500


def open_run(
    folder: Path, args: dqn.Args, *, kind: type[Run] = Run, resume_from: Path | None = None, **options: Any
) -> Run:
    run_dir = RunDir(folder if resume_from else folder / new_run_id())
    run_dir.create()
    return kind(
        RunSpec(
            run_dir=run_dir,
            algo="dqn",
            args=config.to_json(args),
            options=TrainOptions(**options),
            tensorboard=False,
            quiet=True,
            resume_from=resume_from,
        )
    )


def trained(folder: Path, args: dqn.Args, **options: Any) -> Run:
    with open_run(folder, args, **options) as run:
        dqn.train(run, args)
    return run


def last_state(run: Run) -> dict[str, Any]:
    return checkpoint.load(checkpoint.latest(run.run_dir), algo="dqn")[1]


def some_batch(rng: np.random.Generator, rows: int = 64) -> Transitions:
    obs, next_obs = rng.standard_normal((2, rows, 4), dtype=np.float32)
    rewards = rng.standard_normal(rows, dtype=np.float32)
    return Transitions(obs, rng.integers(0, 3, rows), next_obs, rewards, (rng.random(rows) < 0.3).astype(np.float32))


def tensors(batch: Transitions) -> dict[str, torch.Tensor]:
    arrays = {name: torch.from_numpy(array) for name, array in batch._asdict().items()}
    return {**arrays, "gamma": torch.tensor(COEFFICIENTS.gamma)}


def networks() -> tuple[dqn.QNetwork, dqn.QNetwork]:
    torch.manual_seed(0)
    return dqn.QNetwork(OBSERVATIONS, ACTIONS), dqn.QNetwork(OBSERVATIONS, ACTIONS)


def test_the_numpy_gradient_is_the_gradient_of_the_definition() -> None:
    q_network, target_network = networks()
    learner = FastLearner(q_network, target_network)
    batch = some_batch(np.random.default_rng(0))
    losses = learner.gradient(batch, COEFFICIENTS)
    by_hand = learner.parameters.gradient.copy()
    learner.parameters.gradient[:] = 0
    loss, q_values = dqn.td_loss(q_network, target_network, tensors(batch))
    loss.backward()
    np.testing.assert_allclose(by_hand, learner.parameters.gradient, atol=1e-5, rtol=0)
    assert np.abs(by_hand).max() > 1e-2
    assert losses == pytest.approx({"td_loss": loss.item(), "q_values": q_values.item()}, rel=1e-5)


def test_the_definition_bootstraps_from_the_target_network_except_after_a_termination() -> None:
    q_network, target_network = networks()
    batch = some_batch(np.random.default_rng(0))
    errors: list[float] = []
    with torch.no_grad():
        for obs, action, next_obs, reward, done in zip(*batch, strict=True):
            bootstrap = 0.0 if done else target_network.network(torch.from_numpy(next_obs)).max().item()
            value = q_network.network(torch.from_numpy(obs))[action].item()
            errors.append((float(reward) + 0.9 * bootstrap - value) ** 2)
    loss, _ = dqn.td_loss(q_network, target_network, tensors(batch))
    assert loss.item() == pytest.approx(np.mean(errors), rel=1e-5)


def test_both_learners_stay_together_over_updates_of_both_networks() -> None:
    fast = FastLearner(*networks())
    slow = dqn.Learner(*networks(), SHORT, torch.device("cpu"))
    rng = np.random.default_rng(0)
    for _ in range(20):
        batch = some_batch(rng)
        losses = fast.update(batch, COEFFICIENTS), slow.update(batch, COEFFICIENTS)
        assert losses[0]["td_loss"] == pytest.approx(float(losses[1]["td_loss"]), rel=1e-3)
        for learner in (fast, slow):
            learner.update_target(0.3)
    for mine, theirs in ((fast.q_network, slow.q_network), (fast.target_network, slow.target_network)):
        expected = theirs.network(torch.from_numpy(batch.obs)).detach().numpy()
        np.testing.assert_allclose(mine.infer(batch.obs), expected, atol=1e-4)
    np.testing.assert_array_equal(fast.act(batch.obs), slow.act(batch.obs))


def test_epsilon_falls_linearly_and_stays() -> None:
    steps = np.array([0, 25, 50, 100, 101, 1_000])
    np.testing.assert_allclose(dqn.linear_schedule(1, 0.05, 100, steps), [1, 0.7625, 0.525, 0.05, 0.05, 0.05])


class FakeLearner:
    """Always takes action 1, and notes at which step it was asked what."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.acted: list[int] = []
        self.updated: list[int] = []
        self.synced: list[int] = []

    def act(self, obs: np.ndarray) -> np.ndarray:
        self.acted.append(self.run.global_step)
        return np.ones(len(obs), np.int64)

    def update(self, batch: Transitions, coefficients: dqn.Coefficients) -> dict[str, float]:
        assert coefficients == dqn.Coefficients(SHORT.learning_rate, SHORT.gamma)
        self.updated.append(self.run.global_step)
        return {"td_loss": 0.5, "q_values": 1.5}

    def update_target(self, tau: float) -> None:
        self.synced.append(self.run.global_step)

    def state(self) -> dict[str, Any]:
        return {}

    def load(self, state: dict[str, Any]) -> None: ...


def schedule(folder: Path, monkeypatch: pytest.MonkeyPatch, args: dqn.Args) -> tuple[FakeLearner, list[Scalars]]:
    logged: list[Scalars] = []
    with open_run(folder, args, save_model=False) as run:
        fake = FakeLearner(run)
        monkeypatch.setattr(dqn, "guarded", lambda *_: fake)
        emit = run.emit

        def note(body: EventBody) -> None:
            if isinstance(body, Scalars):
                logged.append(body)
            emit(body)

        monkeypatch.setattr(run, "emit", note)
        dqn.train(run, args)
    return fake, logged


def test_updates_synchronises_and_logs_at_upstreams_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake, logged = schedule(tmp_path, monkeypatch, SHORT)
    assert fake.updated == list(range(210, 1_201, 10))
    assert fake.synced == list(range(300, 1_201, 150))
    assert [scalars.global_step for scalars in logged] == list(range(300, 1_201, 100))
    values = dict(logged[0].values)
    assert set(values) == {"losses/td_loss", "losses/q_values", "charts/SPS"}
    assert (values["losses/td_loss"], values["losses/q_values"]) == (0.5, 1.5)


def test_several_environments_keep_the_number_of_updates_for_each_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake, _ = schedule(tmp_path, monkeypatch, replace(SHORT, num_envs=16))
    assert len(fake.updated) == 100
    assert all(0 <= step - due < 16 for step, due in zip(fake.updated, range(210, 1_201, 10), strict=True))
    assert all(0 <= step - due < 16 for step, due in zip(fake.synced, range(300, 1_201, 150), strict=True))


@pytest.mark.parametrize(("epsilon", "share"), [(0.0, 1.0), (0.3, 0.7), (1.0, 0.0)])
def test_acts_greedily_as_often_as_epsilon_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, epsilon: float, share: float
) -> None:
    args = replace(SHORT, start_e=epsilon, end_e=epsilon)
    fake, _ = schedule(tmp_path, monkeypatch, args)
    assert len(fake.acted) / args.total_timesteps == pytest.approx(share, abs=0.04)


@pytest.mark.parametrize("num_envs", [1, 3])
def test_no_transition_crosses_an_episode(tmp_path: Path, num_envs: int) -> None:
    args = replace(SHORT, env_id="test/Sentence-v0", num_envs=num_envs, total_timesteps=120)
    stored = last_state(trained(tmp_path, args))["algorithm"]["replay"]
    assert stored["obs"].shape == (120 // num_envs, num_envs, 2)
    for slot in range(num_envs):
        expected = (0, 0)
        for obs, next_obs, done in zip(*(stored[name][:, slot] for name in ("obs", "next_obs", "dones")), strict=True):
            episode, clock = obs.tolist()
            assert (episode, clock) == expected
            assert next_obs.tolist() == [episode, clock + 1]
            terminated = episode % 2 == 0 and clock + 1 == 3
            assert done == terminated, "the time limit's end of an odd episode is not stored as an end"
            expected = (episode + 1, 0) if terminated or clock + 1 == 5 else (episode, clock + 1)


def test_resuming_a_stopped_run_ends_in_the_same_state(tmp_path: Path) -> None:
    # The target network is 100 steps behind at the stop, and the buffer has been overwritten in part.
    args = replace(SHORT, num_envs=2, target_network_frequency=250)
    expected = last_state(trained(tmp_path, args))
    stopped = trained(tmp_path, args, kind=StoppedRun)
    assert stopped.global_step == 600
    resumed = trained(stopped.run_dir.root, args, resume_from=checkpoint.latest(stopped.run_dir))
    assert resumed.global_step == 1_200
    assert_same(last_state(resumed), expected)


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


def test_a_stop_saves_and_leaves_at_the_end_of_the_block(tmp_path: Path) -> None:
    with open_run(tmp_path, SHORT) as run:
        run.stopping = True
        dqn.train(run, SHORT)
    assert run.global_step == dqn.BLOCK
    assert checkpoint.list_steps(run.run_dir) == [dqn.BLOCK]


def test_a_loaded_policy_acts_as_the_trained_network(tmp_path: Path) -> None:
    run = trained(tmp_path, SHORT)
    file = policy.read(next(run.run_dir.root.rglob("*.cleanrl_model")))
    q_network = dqn.QNetwork(file.observation_space, file.action_space)
    q_network.load_state_dict(file.weights())
    rng = np.random.default_rng(0)
    obs = rng.standard_normal((500, 4), dtype=np.float32)
    greedy = q_network.network(torch.from_numpy(obs)).argmax(1).numpy()
    loaded = dqn.load(file)
    np.testing.assert_array_equal(loaded.act(obs, rng, deterministic=True), greedy)
    # A random action is the greedy one half of the time: there are two.
    differs = np.mean([loaded.act(obs, rng, deterministic=False) != greedy for _ in range(20)])
    assert differs == pytest.approx(SHORT.end_e / 2, abs=0.01)


def test_learns_to_do_what_it_is_shown(tmp_path: Path) -> None:
    args = replace(
        SHORT, env_id="test/Echo-v0", total_timesteps=3_000, learning_rate=1e-3, gamma=0.5, target_network_frequency=50
    )
    returns = last_state(trained(tmp_path, args))["recent_returns"]
    # Random actions get 3.3 of 10.
    assert np.mean(returns[-20:]) > 9
