"""SAC for discrete actions: its sums over the actions against plain loops, and the way that alpha goes."""

import math

import gymnasium as gym
import numpy as np
import pytest
import torch

from cleanrl_worker.algorithms import sac_discrete
from cleanrl_worker.algorithms.sac_discrete import Agent, Args, Learner

ROWS, GAMMA, ALPHA = 10, 0.5, 0.3


@pytest.fixture
def agent() -> Agent:
    torch.manual_seed(0)
    made = Agent(gym.spaces.Box(-1, 1, (4,), np.float32), gym.spaces.Discrete(3), 0.5)
    with torch.no_grad():
        # So that the targets are others than the critics, and policies not all alike.
        for parameter in made.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape))
    return made


@pytest.fixture
def batch() -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    return {
        "obs": torch.randn(ROWS, 4),
        "next_obs": torch.randn(ROWS, 4),
        "actions": torch.randint(3, (ROWS,)),
        "rewards": torch.randn(ROWS),
        "dones": (torch.rand(ROWS) < 0.3).float(),
        "gamma": torch.tensor(GAMMA),
    }


def softmax(logits: list[float]) -> list[float]:
    parts = [math.exp(logit) for logit in logits]
    return [part / sum(parts) for part in parts]


def test_targets_and_losses_are_the_plain_sums(agent: Agent, batch: dict[str, torch.Tensor]) -> None:
    with torch.no_grad():
        logits, next_logits = agent.actor(batch["obs"]).tolist(), agent.actor(batch["next_obs"]).tolist()
        first, second = (values.tolist() for values in agent.critics(batch["obs"]))
        later = [values.tolist() for values in agent.targets(batch["next_obs"])]
        target = sac_discrete.td_target(agent, batch, torch.tensor(ALPHA))
        loss, logged = sac_discrete.critic_loss(agent.critics, batch, target)
        policy_loss, entropy = sac_discrete.actor_loss(agent, batch["obs"], torch.tensor(ALPHA))
    errors, policy, entropies = 0.0, 0.0, 0.0
    for row in range(ROWS):
        probs = softmax(next_logits[row])
        soft = sum(p * (min(later[0][row][a], later[1][row][a]) - ALPHA * math.log(p)) for a, p in enumerate(probs))
        wanted = float(batch["rewards"][row]) + (1 - float(batch["dones"][row])) * GAMMA * soft
        assert float(target[row]) == pytest.approx(wanted, rel=1e-4, abs=1e-5)
        taken = int(batch["actions"][row])
        errors += (first[row][taken] - wanted) ** 2 + (second[row][taken] - wanted) ** 2
        for a, p in enumerate(softmax(logits[row])):
            policy += p * (ALPHA * math.log(p) - min(first[row][a], second[row][a]))
            entropies -= p * math.log(p)
    assert float(loss) == pytest.approx(errors / ROWS, rel=1e-4)
    assert float(logged["qf_loss"]) == pytest.approx(errors / ROWS / 2, rel=1e-4)
    assert float(policy_loss) == pytest.approx(policy / ROWS, rel=1e-4)
    assert float(entropy) == pytest.approx(entropies / ROWS, rel=1e-4)


@pytest.mark.parametrize(("entropy", "rises"), [(0.1, True), (1.0, False)])
def test_alpha_rises_where_the_policy_is_too_sure(agent: Agent, entropy: float, rises: bool) -> None:
    learner = Learner(agent, Args(), torch.device("cpu"))
    assert agent.target_entropy == pytest.approx(0.5 * math.log(3))
    before = float(agent.temperature["log_alpha"].detach())
    learner.descend("temperature", sac_discrete.alpha_loss(agent, torch.tensor(entropy)))
    assert (float(agent.temperature["log_alpha"].detach()) > before) == rises


def test_actions_are_drawn_with_the_probabilities_of_the_policy(agent: Agent) -> None:
    torch.manual_seed(2)
    learner = Learner(agent, Args(), torch.device("cpu"))
    obs = np.tile(np.array([[1, -1, 0.5, 2]], np.float32), (20_000, 1))
    with torch.no_grad():
        probs, _ = agent.policy(torch.from_numpy(obs[:1]))
    drawn = np.bincount(learner.act(obs), minlength=3) / len(obs)
    np.testing.assert_allclose(drawn, probs[0].numpy(), atol=0.02)
