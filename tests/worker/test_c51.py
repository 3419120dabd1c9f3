"""C51: its maths against autograd and against plain loops, and that both of its paths stay together."""

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from cleanrl_worker.algorithms import c51
from cleanrl_worker.sdk.fast import c51_gradient
from cleanrl_worker.sdk.fast.c51 import FastLearner
from cleanrl_worker.sdk.policy import PolicyFile
from cleanrl_worker.sdk.replay import Transitions
from mosaic import config

OBSERVATIONS = gym.spaces.Box(-1, 1, (4,), np.float32)
ACTIONS = gym.spaces.Discrete(3)
# Few atoms, so that some places are atoms, some lie beyond the ends, and probabilities reach the clamp.
ARGS = c51.Args(n_atoms=11, v_min=-2.0, v_max=3.0)
COEFFICIENTS = c51.Coefficients(learning_rate=1e-3, gamma=0.5)


def some_batch(rng: np.random.Generator, rows: int = 64) -> Transitions:
    obs, next_obs = rng.standard_normal((2, rows, 4), dtype=np.float32)
    # Halves put the places of a terminated row onto atoms; 4 lies beyond the last one.
    rewards = rng.choice(np.array([-4, -0.5, 0, 0.3, 1, 4], np.float32), rows)
    return Transitions(obs, rng.integers(0, 3, rows), next_obs, rewards, (rng.random(rows) < 0.3).astype(np.float32))


def tensors(batch: Transitions) -> dict[str, torch.Tensor]:
    arrays = {name: torch.from_numpy(array) for name, array in batch._asdict().items()}
    return {**arrays, "gamma": torch.tensor(COEFFICIENTS.gamma)}


def networks(args: c51.Args = ARGS, sharpness: float = 40) -> tuple[c51.QNetwork, c51.QNetwork]:
    torch.manual_seed(0)
    pair = c51.QNetwork(OBSERVATIONS, ACTIONS, args), c51.QNetwork(OBSERVATIONS, ACTIONS, args)
    with torch.no_grad():
        for network in pair:
            network.network[4].weight.mul_(sharpness)
    return pair


def test_the_target_is_the_plain_projection() -> None:
    _, target_network = networks()
    batch = some_batch(np.random.default_rng(0))
    atoms = target_network.atoms.numpy()
    with torch.no_grad():
        every = target_network.pmfs(torch.from_numpy(batch.next_obs)).numpy().astype(float)
    expected = np.zeros((len(every), 11))
    for row, pmfs in enumerate(every):
        best = max(pmfs, key=lambda pmf: float(pmf @ atoms))
        for probability, atom in zip(best, atoms, strict=True):
            place = float(batch.rewards[row]) + (0.0 if batch.dones[row] else 0.5) * float(atom)
            place = min(max(place, -2.0), 3.0)
            for index, other in enumerate(atoms):
                expected[row, index] += probability * max(0.0, 1 - abs(place - other) / 0.5)
    np.testing.assert_allclose(c51.target_pmfs(target_network, tensors(batch)).numpy(), expected, atol=1e-5)
    learner = FastLearner(*networks(), ARGS)
    np.testing.assert_allclose(learner.projected(batch, COEFFICIENTS), expected, atol=1e-5)
    np.testing.assert_allclose(expected.sum(1), 1, atol=1e-6)


@pytest.mark.parametrize("args", [ARGS, c51.Args()], ids=["11 atoms", "101 atoms"])
def test_the_numpy_gradient_is_the_gradient_of_the_definition(args: c51.Args) -> None:
    q_network, target_network = networks(args)
    learner = FastLearner(q_network, target_network, args)
    batch = some_batch(np.random.default_rng(0))
    pmfs = q_network.pmfs(torch.from_numpy(batch.obs))
    assert (pmfs < 1e-5).any(), "some probabilities must be clamped"
    losses = learner.gradient(batch, COEFFICIENTS)
    by_hand = learner.parameters.gradient.copy()
    learner.parameters.gradient[:] = 0
    loss, q_values = c51.c51_loss(q_network, tensors(batch), torch.from_numpy(learner.projected(batch, COEFFICIENTS)))
    loss.backward()
    scale = np.abs(by_hand).max()
    assert scale > 1e-2
    np.testing.assert_allclose(by_hand, learner.parameters.gradient, atol=1e-5 * max(scale, 1), rtol=0)
    expected = {"loss": loss.item(), "q_values": q_values.item()}
    assert losses == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_both_learners_stay_together_over_updates_of_both_networks() -> None:
    fast = FastLearner(*networks(sharpness=1), ARGS)
    slow = c51.Learner(*networks(sharpness=1), ARGS, torch.device("cpu"))
    rng = np.random.default_rng(0)
    for _ in range(20):
        batch = some_batch(rng)
        losses = fast.update(batch, COEFFICIENTS), slow.update(batch, COEFFICIENTS)
        assert losses[0]["loss"] == pytest.approx(float(losses[1]["loss"]), rel=1e-3)
        for learner in (fast, slow):
            learner.update_target()
    values = c51_gradient.q_values(fast.q_network.infer(batch.obs), fast.atoms)
    with torch.no_grad():
        expected = slow.q_network.values(slow.q_network.pmfs(torch.from_numpy(batch.obs)))
    np.testing.assert_allclose(values.T, expected.numpy(), atol=1e-4)
    np.testing.assert_array_equal(fast.act(batch.obs), slow.act(batch.obs))


def test_a_loaded_policy_acts_as_the_trained_network() -> None:
    q_network, _ = networks()
    arrays: dict[str, Any] = {f"agent.{name}": value.numpy().copy() for name, value in q_network.state_dict().items()}
    file = PolicyFile(
        algo="c51",
        env_id="Some-v0",
        args=config.to_json(replace(ARGS, end_e=0.3)),
        observation_space=OBSERVATIONS,
        action_space=ACTIONS,
        global_step=0,
        arrays=arrays,
    )
    rng = np.random.default_rng(0)
    obs = rng.standard_normal((5000, 4), dtype=np.float32)
    with torch.no_grad():
        greedy = q_network.values(q_network.pmfs(torch.from_numpy(obs))).argmax(1).numpy()
    assert len(set(greedy.tolist())) == 3
    loaded = c51.load(file)
    np.testing.assert_array_equal(loaded.act(obs, rng, deterministic=True), greedy)
    # A random action is the greedy one in one of three cases.
    assert np.mean(loaded.act(obs, rng, deterministic=False) != greedy) == pytest.approx(0.2, abs=0.02)


def test_returns_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ValueError, match=r"v_min is 5.0, which must be less than v_max"):
        c51.Args(v_min=5.0, v_max=5.0)
