"""The guard of the fast paths: no false alarm where little is left but rounding, and nothing that slips past it."""

import copy
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from cleanrl_worker.algorithms import ppo
from cleanrl_worker.sdk.fast.guard import guarded
from cleanrl_worker.sdk.fast.ppo import FastLearner


def sure_batch(agent: Any, rng: np.random.Generator) -> ppo.Batch:
    """Of a policy that takes one action only, whose critic is nearly right."""
    obs = rng.standard_normal((128, 4), dtype=np.float32)
    with torch.no_grad():
        logits = agent.actor(torch.from_numpy(obs))
        values = agent.critic(torch.from_numpy(obs)).view(-1).numpy()
    logprobs = logits.log_softmax(1)[:, 0].numpy()
    advantages = ppo.normalised(rng.standard_normal(128, dtype=np.float32))
    returns = values + 0.01 * rng.standard_normal(128, dtype=np.float32)
    return ppo.Batch(obs, np.zeros(128, np.int64), logprobs, advantages, returns, values)


class Told:
    """In the place of a run."""

    device = torch.device("cpu")

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, message: str) -> None:
        self.warnings.append(message)


COEFFICIENTS = ppo.Coefficients(learning_rate=2.5e-4, clip_coef=0.2, ent_coef=0.01, vf_coef=0.5)


def guarded_ppo(kind: type[Any] = ppo.Learner) -> tuple[Any, ppo.Agent, Told]:
    torch.manual_seed(0)
    agent = ppo.Agent(gym.spaces.Box(-1, 1, (4,), np.float32), gym.spaces.Discrete(2))
    run = Told()
    learner = guarded(run, kind(agent, ppo.Args(), run.device), lambda: FastLearner(agent, ppo.Args()))
    return learner, agent, run


@pytest.mark.parametrize("gap", [5, 9, 14, 16])
def test_a_sure_policy_is_no_other_policy(gap: float) -> None:
    """Little is left of 1 - p there, and all of it is rounding in the end."""
    learner, agent, run = guarded_ppo()
    rng = np.random.default_rng(gap)
    learner.update(sure_batch(agent, rng), COEFFICIENTS)
    with torch.no_grad():
        agent.actor[4].bias[:] = torch.tensor([gap / 2, -gap / 2])
    learner.state()
    learner.update(sure_batch(agent, rng), COEFFICIENTS)
    assert run.warnings == []


class InPlace(ppo.Learner):
    """Clips its advantages where they lie."""

    def step(self, batch: Any) -> dict[str, torch.Tensor]:
        batch["advantages"].clamp_(-0.5, 0.5)
        return super().step(batch)


class Counting(ppo.Learner):
    """Counts its updates."""

    updates = 0

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.updates = 0

    def step(self, batch: Any) -> dict[str, torch.Tensor]:
        self.updates += 1
        return super().step(batch)


class WithBonus(ppo.Learner):
    """Has a number that `train` sets."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.bonus = 0.0


def test_a_loss_that_changes_its_batch_is_told_and_trained() -> None:
    learner, agent, run = guarded_ppo(InPlace)
    batch = sure_batch(agent, np.random.default_rng(0))
    learner.update(batch, COEFFICIENTS)
    assert len(run.warnings) == 1
    assert np.abs(batch.advantages).max() <= 0.5


def test_a_comparison_leaves_no_mark_in_a_learner() -> None:
    learner, agent, run = guarded_ppo(Counting)
    learner.update(sure_batch(agent, np.random.default_rng(0)), COEFFICIENTS)
    assert run.warnings == []
    assert vars(learner)["_plain"].updates == 0


def test_a_number_that_train_sets_reaches_the_loss() -> None:
    learner, _, run = guarded_ppo(WithBonus)
    learner.bonus = 5.0
    assert learner.bonus == 5.0
    assert vars(learner)["_plain"].bonus == 5.0
    assert len(run.warnings) == 1


def test_another_optimiser_goes_on_from_a_checkpoint_of_the_fast_path() -> None:
    learner, agent, _ = guarded_ppo()
    batch = sure_batch(agent, np.random.default_rng(0))
    learner.update(batch, COEFFICIENTS)
    saved = copy.deepcopy(learner.state())

    class Other(ppo.Learner):
        def __init__(self, agent: ppo.Agent, args: ppo.Args, device: torch.device) -> None:
            super().__init__(agent, args, device)
            self.optimizer = torch.optim.RMSprop(agent.parameters(), lr=args.learning_rate)

    changed, _, run = guarded_ppo(Other)
    changed.load(saved)
    changed.update(batch, COEFFICIENTS)
    assert len(run.warnings) == 1
