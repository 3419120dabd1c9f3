"""PPO with an LSTM: its maths against autograd, and that nothing is remembered from another episode or environment."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from cleanrl_worker.algorithms import ppo_lstm
from cleanrl_worker.algorithms.ppo_lstm import UNITS, Agent, Args, Batch, Coefficients, FastLearner, Learner
from cleanrl_worker.sdk.checkpoints import checkpoint
from cleanrl_worker.sdk.evaluation import eval_batches
from cleanrl_worker.sdk.fast.lstm import State
from cleanrl_worker.sdk.policy import RecurrentPolicy
from cleanrl_worker.sdk.run import Run, RunSpec
from mosaic import config, envs
from mosaic.envs.vector.bare_vector import BareVec
from mosaic.envs.vector.batch import Batch as Batches
from mosaic.play.actor import View
from mosaic.play.actors.policy import PolicyActor
from mosaic.spec.run_config import TrainOptions
from mosaic.spec.run_dir import RunDir, new_run_id

OBS = gym.spaces.Box(-1, 1, (5,), np.float32)
ACTIONS = gym.spaces.Discrete(3)
STEPS, ENVS = 12, 4
MASKED = "mosaic/CartPoleNoVelocity-v1"
SHORT = Args(cuda=False, total_timesteps=2048, num_envs=4, num_steps=64, num_minibatches=2, update_epochs=1)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def agent() -> Agent:
    torch.manual_seed(0)
    return Agent(OBS, ACTIONS)


def some_batch(rng: np.random.Generator) -> Batch:
    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape, dtype=np.float32)

    shape = (STEPS, ENVS)
    return Batch(
        obs=normal(*shape, 5),
        starts=(rng.random(shape) < 0.2).astype(np.float32),
        actions=rng.integers(0, 3, shape),
        logprobs=-1.1 + 0.2 * normal(*shape),
        advantages=normal(*shape),
        returns=normal(*shape),
        values=normal(*shape),
        hidden=normal(1, ENVS, UNITS),
        cell=normal(1, ENVS, UNITS),
    )


COEFFICIENTS = Coefficients(learning_rate=1e-3, clip_coef=0.1, ent_coef=0.01, vf_coef=0.5)


def tensors(batch: Batch) -> dict[str, torch.Tensor]:
    return {name: torch.as_tensor(value) for name, value in (batch._asdict() | COEFFICIENTS._asdict()).items()}


def test_the_numpy_gradient_is_the_gradient_of_the_definition(rng: np.random.Generator) -> None:
    module, args = agent(), Args()
    learner = FastLearner(module, args)
    batch = some_batch(rng)
    losses = learner.gradient(batch, COEFFICIENTS)
    by_hand = {name: gradient.copy() for name, gradient in learner.parameters.gradient_of.items()}
    learner.parameters.gradient[:] = 0
    loss, logged = ppo_lstm.ppo_loss(module, tensors(batch), args)
    loss.backward()
    for name, gradient in learner.parameters.gradient_of.items():
        assert np.abs(gradient).max() > 1e-4, name
        np.testing.assert_allclose(by_hand[name], gradient, atol=1e-5, rtol=0, err_msg=name)
    assert losses == pytest.approx({name: value.item() for name, value in logged.items()}, rel=1e-4, abs=1e-6)


def test_the_definition_forgets_where_an_episode_starts(rng: np.random.Generator) -> None:
    """A sequence with a start in it is two sequences."""
    module, batch = agent(), some_batch(rng)
    starts = np.zeros((STEPS, ENVS), np.float32)
    starts[5, 1] = 1
    state = (torch.from_numpy(batch.hidden[0]), torch.from_numpy(batch.cell[0]))
    obs = torch.from_numpy(batch.obs)
    whole, _ = module.hidden(obs, state, torch.from_numpy(starts))
    zero = (torch.zeros(ENVS, UNITS), torch.zeros(ENVS, UNITS))
    fresh, _ = module.hidden(obs[5:], zero, torch.zeros(STEPS - 5, ENVS))
    np.testing.assert_allclose(whole[5:, 1].detach(), fresh[:, 1].detach(), atol=1e-6)
    assert (whole[5:, 0] - fresh[:, 0]).abs().max() > 1e-3


def test_both_learners_stay_together(rng: np.random.Generator) -> None:
    fast, slow = FastLearner(agent(), Args()), Learner(agent(), Args(), torch.device("cpu"))
    for _ in range(5):
        batch = some_batch(rng)
        expected = pytest.approx(slow.update(batch, COEFFICIENTS), rel=1e-3, abs=1e-4)
        assert fast.update(batch, COEFFICIENTS) == expected
    state = State(batch.hidden[0], batch.cell[0])
    after = [learner.remember(batch.obs[0], state, batch.starts[0]) for learner in (fast, slow)]
    for mine, theirs in zip(*after, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-3)
    np.testing.assert_allclose(fast.logits(after[0].hidden), slow.logits(after[0].hidden), atol=1e-3)
    np.testing.assert_allclose(fast.values(after[0].hidden), slow.values(after[0].hidden), atol=1e-3)


def test_a_policy_remembers_row_by_row_and_forgets_what_it_is_told_to(rng: np.random.Generator) -> None:
    policy = ppo_lstm.RememberingPolicy(agent(), Args())
    alone = [ppo_lstm.RememberingPolicy(agent(), Args()) for _ in range(ENVS)]
    assert isinstance(policy, RecurrentPolicy)
    for step in range(20):
        obs = rng.standard_normal((ENVS, 5), dtype=np.float32)
        starts = rng.random(ENVS) < (1.0 if step == 0 else 0.1)
        policy.forget(starts)
        policy.act(obs, rng, deterministic=True)
        for row, (single, start) in enumerate(zip(alone, starts, strict=True)):
            if start:
                # As good as new.
                single = alone[row] = ppo_lstm.RememberingPolicy(agent(), Args())
            single.act(obs[row : row + 1], rng, deterministic=True)
            np.testing.assert_allclose(policy.memory.hidden[row], single.memory.hidden[0], atol=1e-6)


def test_an_evaluation_tells_the_policy_where_episodes_begin() -> None:
    class Listening:
        def __init__(self) -> None:
            self.told: list[list[bool]] = []

        def forget(self, slots: Any) -> None:
            self.told.append(slots.tolist())

        def act(self, observations: Any, generator: Any, *, deterministic: bool) -> Any:
            return np.zeros(len(observations), np.int64)

    policy, vector = Listening(), envs.make_vec(MASKED, 2, render_mode=None)
    played = eval_batches.play(policy, vector, eval_batches.Quotas([5, 6, 7, 8]), deterministic=True)
    vector.close()
    # Always to the left: some ten steps an episode.
    assert played is not None
    first = [episode.episodic_length for episode in played if episode.slot == 0]
    assert [step for step, slots in enumerate(policy.told) if slots[0]][:2] == [0, first[0]]
    assert policy.told[0] == [True, True]
    assert sum(slots[1] for slots in policy.told) == 2


def test_a_player_begins_each_episode_with_an_empty_memory(rng: np.random.Generator) -> None:
    policy = ppo_lstm.RememberingPolicy(agent(), Args())
    player = PolicyActor(policy, Batches(OBS, ACTIONS, None), deterministic=True)
    views = [View(observation=rng.standard_normal(5, dtype=np.float32), step=step, seat="one") for step in range(3)]
    memories: list[Any] = []
    for _ in range(2):
        player.reset(seed=1)
        for view in views:
            player.select_action(view)
        memories.append(policy.memory.hidden.copy())
    np.testing.assert_array_equal(*memories)
    player.select_action(views[0])
    assert not np.array_equal(policy.memory.hidden, memories[0])


def open_run(folder: Path, resume_from: Path | None = None) -> Run:
    run_dir = RunDir(folder if resume_from else folder / new_run_id())
    run_dir.create()
    spec = RunSpec(
        run_dir=run_dir,
        algo="ppo_lstm",
        args=config.to_json(SHORT),
        options=TrainOptions(fastlane_enabled=False, save_model=False),
        tensorboard=False,
        quiet=True,
        resume_from=resume_from,
    )
    return Run(spec)


@pytest.mark.parametrize("exact", [True, False])
def test_a_run_resumed_in_mid_episode_remembers_only_if_its_episodes_went_on(
    exact: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_run(tmp_path) as run:
        run.stopping = True
        ppo_lstm.train(run, SHORT)
    folder = checkpoint.latest(run.run_dir)
    assert folder is not None
    saved = checkpoint.load(folder, algo="ppo_lstm")[1]["algorithm"]
    assert not saved["starts"].all(), "some episode must be under way"
    seen: list[Batch] = []

    def first_batch(_: Any, batch: Batch, coefficients: Coefficients) -> Any:
        seen.append(batch)
        raise KeyboardInterrupt

    monkeypatch.setattr(FastLearner, "update", first_batch)
    if not exact:
        right = BareVec.restore

        def restore(self: BareVec, snapshot: Any) -> bool:
            right(self, snapshot)
            self.reset(seed=7)
            return False

        monkeypatch.setattr(BareVec, "restore", restore)
    with pytest.raises(KeyboardInterrupt), open_run(run.run_dir.root, folder) as resumed:
        ppo_lstm.train(resumed, SHORT)
    rows = {tuple(row) for row in seen[0].hidden[0].tolist()}
    if exact:
        assert rows <= {tuple(row) for row in saved["hidden"].tolist()}
    else:
        assert (seen[0].starts[0] == 1).all()


def test_environments_that_cannot_be_shared_out_are_refused() -> None:
    with pytest.raises(ValueError, match="num_envs is 6, not a multiple of num_minibatches, 4"):
        Args(num_envs=6)


def test_the_masked_cartpole_is_cartpole_without_speeds() -> None:
    masked, whole = envs.make(MASKED, render_mode=None), gym.make("CartPole-v1")
    assert masked.reset(seed=3)[0].tolist() == whole.reset(seed=3)[0][::2].tolist()
    for action in (0, 1, 1, 0, 1):
        one, other = masked.step(action), whole.step(action)
        assert one[0].tolist() == other[0][::2].tolist()
        assert one[1:4] == other[1:4]
    assert masked.observation_space.contains(one[0])
    assert masked.spec is not None
    assert masked.spec.max_episode_steps == 500
