"""RPO: the hand-written gradient with shifted means is that of the definition; the shifts are what was asked for."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from cleanrl_worker.algorithms import rpo_continuous_action as rpo
from cleanrl_worker.sdk.run import Run, RunSpec
from mosaic import config
from mosaic.spec.run_config import TrainOptions
from mosaic.spec.run_dir import RunDir, new_run_id

OBS = gym.spaces.Box(-np.inf, np.inf, (5,), np.float32)
ACTIONS = gym.spaces.Box(-1, 1, (3,), np.float32)


def tensors(batch: rpo.Batch, coefficients: rpo.Coefficients) -> dict[str, torch.Tensor]:
    return {name: torch.as_tensor(value) for name, value in (batch._asdict() | coefficients._asdict()).items()}


def test_the_numpy_gradient_is_the_gradient_of_the_definition() -> None:
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    agent = rpo.Agent(OBS, ACTIONS)
    args = rpo.Args()
    coefficients = rpo.Coefficients(learning_rate=1e-3, clip_coef=0.2, ent_coef=0.01, vf_coef=0.5)
    learner = rpo.FastLearner(agent, args)

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape, dtype=np.float32)

    batch = rpo.Batch(normal(64, 5), normal(64, 3), -4 + normal(64), normal(64), normal(64), normal(64), normal(64, 3))
    losses = learner.gradient(batch, coefficients)
    by_hand = learner.parameters.gradient.copy()
    learner.parameters.gradient[:] = 0
    loss, logged = rpo.ppo_loss(agent, tensors(batch, coefficients), args)
    loss.backward()
    np.testing.assert_allclose(by_hand, learner.parameters.gradient, atol=1e-5 * max(1, np.abs(by_hand).max()), rtol=0)
    assert losses == pytest.approx({name: value.item() for name, value in logged.items()}, rel=1e-4, abs=1e-5)
    plain, _ = rpo.ppo_loss(agent, tensors(batch._replace(shifts=batch.shifts * 0), coefficients), args)
    assert abs(plain.item() - loss.item()) > 1e-3, "the shifts must matter"


@pytest.fixture
def passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[rpo.Batch]:
    """Every minibatch of a short training with alpha 0.3."""
    seen: list[rpo.Batch] = []
    right = rpo.FastLearner.update

    def update(self: Any, batch: rpo.Batch, coefficients: rpo.Coefficients) -> dict[str, float]:
        seen.append(rpo.Batch(*(field.copy() for field in batch)))
        return right(self, batch, coefficients)

    monkeypatch.setattr(rpo, "guarded", lambda run, plain, fast: fast())
    monkeypatch.setattr(rpo.FastLearner, "update", update)
    args = rpo.Args(
        env_id="Pendulum-v1", total_timesteps=256, num_steps=128, num_minibatches=4, update_epochs=3, rpo_alpha=0.3
    )
    run_dir = RunDir(tmp_path / new_run_id())
    run_dir.create()
    options = TrainOptions(fastlane_enabled=False, save_model=False)
    spec = RunSpec(
        run_dir=run_dir, algo="rpo_continuous_action", args=config.to_json(args), options=options, quiet=True
    )
    with Run(spec) as run:
        rpo.train(run, args)
    return seen


def test_every_sample_of_every_pass_is_shifted_anew_within_alpha(passes: list[rpo.Batch]) -> None:
    assert len(passes) == 2 * 3 * 4
    shifts = np.concatenate([batch.shifts for batch in passes])
    assert len(np.unique(shifts)) > 0.99 * shifts.size
    assert np.abs(shifts).max() <= 0.3
    assert shifts.std() == pytest.approx(0.3 / 3**0.5, rel=0.1)
    assert abs(shifts.mean()) < 0.03
