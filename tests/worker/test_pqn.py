"""PQN: its maths against autograd, torch's RAdam and a plain loop, and that both of its paths stay together."""

import runpy
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import nn

from cleanrl_worker.algorithms import pqn
from cleanrl_worker.sdk.fast import FlatParameters
from cleanrl_worker.sdk.fast.networks.layer_norm_mlp import LayerNormMlp
from cleanrl_worker.sdk.fast.networks.radam import RAdam

OBSERVATIONS = gym.spaces.Box(-1, 1, (4,), np.float32)
ACTIONS = gym.spaces.Discrete(3)
ARGS = pqn.Args(learning_rate=1e-3, max_grad_norm=0.5)


def some_batch(rng: np.random.Generator, rows: int = 64) -> pqn.Batch:
    obs = rng.standard_normal((rows, 4), dtype=np.float32)
    return pqn.Batch(obs, rng.integers(0, 3, rows), 3 * rng.standard_normal(rows, dtype=np.float32))


def network() -> pqn.QNetwork:
    """Scales and shifts away from 1 and 0."""
    torch.manual_seed(0)
    q_network = pqn.QNetwork(OBSERVATIONS, ACTIONS)
    with torch.no_grad():
        for parameter in q_network.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return q_network


def test_the_numpy_gradient_is_the_gradient_of_the_definition() -> None:
    q_network = network()
    learner = pqn.FastLearner(q_network, ARGS)
    batch = some_batch(np.random.default_rng(0))
    losses = learner.gradient(batch)
    by_hand = learner.parameters.gradient.copy()
    learner.parameters.gradient[:] = 0
    loss, q_values = pqn.td_loss(q_network, {k: torch.from_numpy(v) for k, v in batch._asdict().items()})
    loss.backward()
    scale = np.abs(by_hand).max()
    assert scale > 1e-2
    np.testing.assert_allclose(by_hand, learner.parameters.gradient, atol=1e-5 * max(1, scale), rtol=0)
    assert losses == pytest.approx({"td_loss": loss.item(), "q_values": q_values.item()}, rel=1e-5)


def test_radam_steps_as_torchs() -> None:
    """Over the step at which it begins to divide by the gradient's size."""
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    layer, reference = nn.Linear(7, 5), nn.Linear(7, 5)
    reference.load_state_dict(layer.state_dict())
    flat = FlatParameters(layer)
    ours, theirs = RAdam(flat), torch.optim.RAdam(reference.parameters(), lr=1e-2)
    for step in range(20):
        for name, parameter in reference.named_parameters():
            parameter.grad = torch.from_numpy(rng.standard_normal(tuple(parameter.shape), dtype=np.float32))
            flat.gradient_of[name][...] = parameter.grad.numpy()
        theirs.step()
        ours.step(1e-2)
        if step == 10:
            again = RAdam(flat)
            again.load(ours.state())
            ours = again
        for name, parameter in reference.named_parameters():
            np.testing.assert_allclose(flat.value_of[name], parameter.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_both_learners_stay_together() -> None:
    fast = pqn.FastLearner(network(), ARGS)
    slow = pqn.Learner(network(), ARGS, torch.device("cpu"))
    rng = np.random.default_rng(0)
    for _ in range(20):
        batch = some_batch(rng)
        assert fast.update(batch, 1e-3) == pytest.approx(slow.update(batch, 1e-3), rel=1e-3, abs=1e-4)
    np.testing.assert_allclose(fast.values(batch.obs), slow.values(batch.obs), atol=1e-3)
    np.testing.assert_array_equal(fast.act(batch.obs), slow.act(batch.obs))


def test_targets_are_those_of_the_definition_and_stop_at_an_episodes_end() -> None:
    rng = np.random.default_rng(0)
    rewards, values = rng.standard_normal((6, 2)), rng.standard_normal((7, 2))
    dones = np.array([[0, 0], [1, 0], [0, 0], [0, 1], [0, 0], [1, 0]], float)

    def target(step: int, env: int) -> float:
        """Q(λ) by its definition: the mean of all n-step returns, weighted by (1 - λ)λⁿ⁻¹."""
        total, discount, weight, result = 0.0, 1.0, 1.0, 0.0
        for later in range(step, 6):
            total += discount * rewards[later, env]
            discount *= 0.9
            if dones[later, env]:
                return result + weight * total
            share = weight if later == 5 else weight * (1 - 0.7)
            result += share * (total + discount * values[later + 1, env])
            weight *= 0.7
        return result

    found = pqn.lambda_returns(rewards, values, dones, pqn.Args(gamma=0.9, q_lambda=0.7))
    np.testing.assert_allclose(found, [[target(step, env) for env in range(2)] for step in range(6)])


def test_the_default_targets_are_upstreams() -> None:
    rng = np.random.default_rng(0)
    rewards, values = rng.standard_normal((6, 2)), rng.standard_normal((7, 2))
    dones = (rng.random((6, 2)) < 0.4).astype(float)
    dones[-1] = [1, 0]
    expected = np.zeros((6, 2))
    for step in reversed(range(6)):
        later = values[6] if step == 5 else 0.7 * expected[step + 1] + 0.3 * values[step + 1]
        expected[step] = rewards[step] + 0.9 * later * (1 - dones[step])
    np.testing.assert_allclose(pqn.lambda_returns(rewards, values, dones, pqn.Args(gamma=0.9, q_lambda=0.7)), expected)


def test_the_plain_control_of_the_benchmarks_has_the_same_targets() -> None:
    rng = np.random.default_rng(0)
    rewards, values = rng.standard_normal((6, 2)), rng.standard_normal((7, 2))
    dones = (rng.random((6, 2)) < 0.4).astype(float)
    control = runpy.run_path(str(Path(__file__).parents[2] / "bench" / "plain_pqn.py"))
    plain = control["lambda_returns"](*map(torch.from_numpy, (rewards, values[:-1], dones, values[-1])))
    np.testing.assert_allclose(plain.numpy(), pqn.lambda_returns(rewards, values, dones, pqn.Args()))


def test_another_network_is_refused() -> None:
    flat = FlatParameters(module := nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)))
    with pytest.raises(ValueError, match="must be Linear, LayerNorm, ReLU"):
        LayerNormMlp(flat, module, "network")
