"""QR-DQN and TQC: their losses and targets against plain loops, and that a quantile comes to rest where it should."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from cleanrl_worker.algorithms import qr_dqn
from cleanrl_worker.algorithms import tqc_continuous_action as tqc

OBSERVATIONS = gym.spaces.Box(-1, 1, (4,), np.float32)
CHOICES = gym.spaces.Discrete(3)
TORQUES = gym.spaces.Box(np.array([-2, 0], np.float32), np.array([2, 1], np.float32))
ROWS, GAMMA = 12, 0.5


def pull(error: float, probability: float, kappa: float = 1.0) -> float:
    """The quantile Huber loss of one error (Dabney et al. 2018, equation 10)."""
    size = abs(error)
    huber = 0.5 * error * error if size <= kappa else kappa * (size - 0.5 * kappa)
    return abs(probability - (1.0 if error < 0 else 0.0)) * huber / kappa


def batch_of(rng: np.random.Generator, actions: Any) -> dict[str, torch.Tensor]:
    arrays = {
        "obs": rng.standard_normal((ROWS, 4), dtype=np.float32),
        "next_obs": rng.standard_normal((ROWS, 4), dtype=np.float32),
        "rewards": rng.normal(scale=3, size=ROWS).astype(np.float32),
        "dones": (rng.random(ROWS) < 0.3).astype(np.float32),
    }
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return {**tensors, "actions": torch.from_numpy(actions), "gamma": torch.tensor(GAMMA)}


@pytest.mark.parametrize("kappa", [0.4, 1.0])
def test_qr_dqn_learns_by_the_loss_of_the_paper(kappa: float) -> None:
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    args = qr_dqn.Args(n_quantiles=5)
    network, target_network = (qr_dqn.QNetwork(OBSERVATIONS, CHOICES, args) for _ in range(2))
    batch = batch_of(rng, rng.integers(0, 3, ROWS))
    target = qr_dqn.target_quantiles(target_network, batch)
    loss, q_values = qr_dqn.qr_loss(network, batch, target, kappa)
    with torch.no_grad():
        now, following = (net.quantiles(batch[name]) for net, name in ((network, "obs"), (target_network, "next_obs")))
    total, values = 0.0, []
    for row in range(ROWS):
        taken = now[row, batch["actions"][row]].tolist()
        best = max(following[row].tolist(), key=sum)
        goes_on = GAMMA * (1 - float(batch["dones"][row]))
        wanted = [float(batch["rewards"][row]) + goes_on * value for value in best]
        np.testing.assert_allclose(target[row].numpy(), wanted, rtol=1e-5)
        for index, quantile in enumerate(taken):
            probability = (index + 0.5) / 5
            total += sum(pull(value - quantile, probability, kappa) for value in wanted) / len(wanted)
        values += taken
    assert float(loss.detach()) == pytest.approx(total / ROWS, rel=1e-4)
    assert float(q_values.detach()) == pytest.approx(np.mean(values), rel=1e-4)


@pytest.mark.parametrize("drop", [0, 1])
def test_tqc_learns_by_the_loss_of_the_paper(drop: int) -> None:
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    args = tqc.Args(n_critics=3, n_quantiles=4, top_quantiles_to_drop=drop)
    agent = tqc.Agent(OBSERVATIONS, TORQUES, args)
    batch = batch_of(rng, rng.standard_normal((ROWS, 2), dtype=np.float32))
    noise, alpha = torch.from_numpy(rng.standard_normal((ROWS, 2), dtype=np.float32)), torch.tensor(0.3)
    target = tqc.target_quantiles(agent, batch, noise, alpha, 3 * drop)
    loss, logged = tqc.critic_loss(agent.critics, batch, target)
    with torch.no_grad():
        next_actions, logprob = agent.actor.get_action(batch["next_obs"], noise)
        following = agent.targets(batch["next_obs"], next_actions)
        now = agent.critics(batch["obs"], batch["actions"])
    total = 0.0
    for row in range(ROWS):
        mixed = sorted(value for critic in following[row].tolist() for value in critic)[: 12 - 3 * drop]
        goes_on = GAMMA * (1 - float(batch["dones"][row]))
        entropy = -0.3 * float(logprob[row])
        wanted = [float(batch["rewards"][row]) + goes_on * (value + entropy) for value in mixed]
        np.testing.assert_allclose(target[row].numpy(), wanted, rtol=1e-4, atol=1e-6)
        for critic in now[row].tolist():
            for index, quantile in enumerate(critic):
                total += sum(pull(value - quantile, (index + 0.5) / 4) for value in wanted) / (len(wanted) * 12)
    assert float(loss.detach()) == pytest.approx(total / ROWS, rel=1e-4)
    assert float(logged["qf_values"]) == pytest.approx(float(now.mean()), rel=1e-4)


def test_tqc_has_its_actor_climb_the_mean_of_all_quantiles() -> None:
    torch.manual_seed(0)
    agent = tqc.Agent(OBSERVATIONS, TORQUES, tqc.Args(n_critics=2, n_quantiles=3, top_quantiles_to_drop=1))
    obs, noise = torch.randn(ROWS, 4), torch.randn(ROWS, 2)
    with torch.no_grad():
        actions, logprob = agent.actor.get_action(obs, noise)
        values = agent.critics(obs, actions).tolist()
        expected = np.mean([0.3 * float(logprob[row]) - np.mean(values[row]) for row in range(ROWS)])
        found = float(tqc.actor_loss(agent, obs, noise, torch.tensor(0.3)))
    assert found == pytest.approx(expected, rel=1e-4)


def test_quantiles_come_to_rest_at_those_of_what_they_are_shown() -> None:
    """Of a thousand returns from 0 to 100, so spread that the loss is nearly linear."""
    probabilities = (torch.arange(5) + 0.5) / 5
    quantiles = torch.zeros(1, 5, requires_grad=True)
    returns = torch.linspace(0, 100, 1001)[None]
    optimiser = torch.optim.SGD([quantiles], lr=20)
    for _ in range(300):
        optimiser.zero_grad()
        qr_dqn.quantile_huber_loss(quantiles, returns, probabilities, 1.0).backward()
        optimiser.step()
    np.testing.assert_allclose(quantiles.detach().numpy(), [[10, 30, 50, 70, 90]], atol=1)


def test_more_quantiles_dropped_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="top_quantiles_to_drop is 4, which must be less than n_quantiles, 4"):
        tqc.Args(n_quantiles=4, top_quantiles_to_drop=4)
