"""CrossQ and SimBa: normalisation, losses and optimisers against plain loops and torch's own."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import nn

from cleanrl_worker.algorithms import crossq_continuous_action as crossq
from cleanrl_worker.algorithms import simba_sac_continuous_action as simba
from cleanrl_worker.sdk.optimizer import adam, adamw

OBSERVATIONS = gym.spaces.Box(-1, 1, (3,), np.float32)
TORQUES = gym.spaces.Box(-2, 2, (2,), np.float32)
ROWS = 10
RENORM: dict[str, Any] = {"renorm_momentum": 0.1, "renorm_warmup": 1}


def batch_of(rng: np.random.Generator) -> dict[str, torch.Tensor]:
    arrays = {
        "obs": rng.normal(size=(ROWS, 3)),
        "next_obs": rng.normal(2.0, 3.0, (ROWS, 3)),
        "actions": rng.normal(size=(ROWS, 2)),
        "rewards": rng.normal(size=ROWS),
        "dones": rng.random(ROWS) < 0.3,
    }
    tensors = {name: torch.from_numpy(array.astype(np.float32)) for name, array in arrays.items()}
    return {**tensors, "gamma": torch.tensor(0.5)}


def test_batch_renormalisation_is_that_of_the_paper() -> None:
    """Ioffe 2017, algorithm 1: by the batch at first, then corrected towards the running moments, within bounds."""
    rng = np.random.default_rng(0)
    layer = crossq.BatchRenorm(2, crossq.Args(**RENORM))
    running_mean, running_var = np.zeros(2), np.ones(2)
    # The second batch lies so far off that both corrections meet their bounds.
    for number, (centre, spread) in enumerate([(1.0, 2.0), (40.0, 20.0), (3.0, 1.5)]):
        x = rng.normal(centre, spread, (ROWS, 2))
        mean, var = x.mean(0), x.var(0)
        deviation, running = np.sqrt(var + 1e-3), np.sqrt(running_var + 1e-3)
        r = np.clip(deviation / running, 1 / 3, 3) if number else np.ones(2)
        d = np.clip((mean - running_mean) / running, -5, 5) if number else np.zeros(2)
        found = layer(torch.from_numpy(x.astype(np.float32)), learns=True)
        np.testing.assert_allclose(found.detach().numpy(), (x - mean) / deviation * r + d, rtol=1e-3, atol=1e-4)
        running_mean += 0.1 * (mean - running_mean)
        running_var += 0.1 * (var - running_var)
    acting = layer(torch.from_numpy(x.astype(np.float32)), learns=False)
    expected = (x - running_mean) / np.sqrt(running_var + 1e-3)
    np.testing.assert_allclose(acting.detach().numpy(), expected, rtol=1e-3, atol=1e-4)


def test_in_the_warm_up_it_is_torchs_batch_norm_in_outputs_and_gradients() -> None:
    torch.manual_seed(0)
    ours = crossq.BatchRenorm(3, crossq.Args())
    theirs = nn.BatchNorm1d(3, eps=1e-3)
    x = [torch.randn(ROWS, 3, requires_grad=True) for _ in range(2)]
    x[1].data.copy_(x[0].data)
    weights = torch.randn(ROWS, 3)
    found, expected = ours(x[0], learns=True), theirs(x[1])
    for output in (found, expected):
        (output * weights).sum().backward()
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), atol=1e-5)
    np.testing.assert_allclose(x[0].grad, x[1].grad, atol=1e-5)  # type: ignore[arg-type]


def test_crossq_judges_both_states_in_one_batch_and_the_second_without_gradient() -> None:
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    args = crossq.Args(critic_width=16)
    agent, batch = crossq.Agent(OBSERVATIONS, TORQUES, args), batch_of(rng)
    noise, alpha = torch.randn(ROWS, 2), torch.tensor(0.3)
    loss, logged = crossq.critic_loss(agent, batch, noise, alpha)
    loss.backward()
    gradient = agent.critics.qf1.fc3.weight.grad
    assert gradient is not None
    with torch.no_grad():
        next_actions, logprob = agent.actor.get_action(batch["next_obs"], noise)
        inputs = torch.cat(
            [torch.cat([batch["obs"], batch["actions"]], 1), torch.cat([batch["next_obs"], next_actions], 1)]
        )
        values = [critic(inputs, learns=True).tolist() for critic in (agent.critics.qf1, agent.critics.qf2)]
        hidden = agent.critics.qf1.network(inputs, learns=True)
    total, slope = 0.0, np.zeros(16)
    for row in range(ROWS):
        after = min(values[0][ROWS + row], values[1][ROWS + row]) - 0.3 * float(logprob[row])
        wanted = float(batch["rewards"][row]) + (1 - float(batch["dones"][row])) * 0.5 * after
        total += (values[0][row] - wanted) ** 2 + (values[1][row] - wanted) ** 2
        slope += (values[0][row] - wanted) * hidden[row].numpy() / ROWS
    assert float(loss.detach()) == pytest.approx(total / ROWS / 2, rel=1e-4)
    assert float(logged["qf_loss"]) == pytest.approx(total / ROWS / 2, rel=1e-4)
    np.testing.assert_allclose(gradient[0].numpy(), slope, rtol=1e-3, atol=1e-5)


def test_crossq_acts_without_learning_moments() -> None:
    torch.manual_seed(0)
    agent = crossq.Agent(OBSERVATIONS, TORQUES, crossq.Args(critic_width=16))
    learner = crossq.Learner(agent, crossq.Args(), torch.device("cpu"))
    before = {name: value.clone() for name, value in agent.state_dict().items()}
    learner.act(np.ones((1, 3), np.float32))
    assert all(torch.equal(before[name], value) for name, value in agent.state_dict().items())
    crossq.actor_loss(agent, torch.randn(ROWS, 3), torch.randn(ROWS, 2), torch.tensor(0.3))
    moved = {name for name, value in agent.state_dict().items() if not torch.equal(before[name], value)}
    # The critics judge as they are; only the policy's own moments go on.
    assert moved
    assert all(name.startswith("actor.network.norm") for name in moved)


def test_simbas_network_is_the_plain_sum_around_each_block() -> None:
    torch.manual_seed(0)
    network = simba.encoder(3, 8, 2)
    x = torch.randn(ROWS, 3)

    def normed(values: np.ndarray) -> np.ndarray:
        centred = values - values.mean(1, keepdims=True)
        return centred / np.sqrt(values.var(1, keepdims=True) + 1e-5)

    def layer(linear: Any, values: np.ndarray) -> np.ndarray:
        return values @ linear.weight.detach().numpy().T + linear.bias.detach().numpy()

    first, *blocks, _ = network
    expected = layer(first, x.numpy())
    for block in blocks:
        expected = expected + layer(block.fc2, np.maximum(layer(block.fc1, normed(expected)), 0))
    np.testing.assert_allclose(network(x).detach().numpy(), normed(expected), rtol=1e-3, atol=1e-5)
    assert blocks[0].fc1.weight.shape == (32, 8)


def test_simbas_losses_are_the_plain_sums() -> None:
    torch.manual_seed(0)
    args = simba.Args(actor_width=8, critic_width=8)
    agent, batch = simba.Agent(OBSERVATIONS, TORQUES, args), batch_of(np.random.default_rng(0))
    noise, alpha = torch.randn(ROWS, 2), torch.tensor(0.3)
    with torch.no_grad():
        target = simba.td_target(agent, batch, noise, alpha)
        loss, _ = simba.critic_loss(agent.critics, batch, target)
        policy_loss = float(simba.actor_loss(agent, batch["obs"], noise, alpha))
        next_actions, next_logprob = agent.actor.get_action(batch["next_obs"], noise)
        later = [values.tolist() for values in agent.targets(batch["next_obs"], next_actions)]
        now = [values.tolist() for values in agent.critics(batch["obs"], batch["actions"])]
        actions, logprob = agent.actor.get_action(batch["obs"], noise)
        liked = [values.tolist() for values in agent.critics(batch["obs"], actions)]
    errors, policy = 0.0, 0.0
    for row in range(ROWS):
        after = min(later[0][row], later[1][row]) - 0.3 * float(next_logprob[row])
        wanted = float(batch["rewards"][row]) + (1 - float(batch["dones"][row])) * 0.5 * after
        errors += (now[0][row] - wanted) ** 2 + (now[1][row] - wanted) ** 2
        policy += 0.3 * float(logprob[row]) - min(liked[0][row], liked[1][row])
    assert float(loss) == pytest.approx(errors / ROWS, rel=1e-4)
    assert policy_loss == pytest.approx(policy / ROWS, rel=1e-4)
    assert agent.target_entropy == -1.0
    assert float(agent.temperature["log_alpha"].detach().exp()) == pytest.approx(0.01)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_the_light_optimisers_step_as_torchs_own(decay: float) -> None:
    torch.manual_seed(0)
    ours, theirs = nn.Linear(4, 3), nn.Linear(4, 3)
    theirs.load_state_dict(ours.state_dict())
    if decay:
        mine = adamw(ours, learning_rate=0.01, weight_decay=decay)
        reference: torch.optim.Optimizer = torch.optim.AdamW(theirs.parameters(), lr=0.01, weight_decay=decay)
    else:
        mine = adam(ours, learning_rate=0.01, beta1=0.5)
        reference = torch.optim.Adam(theirs.parameters(), lr=0.01, betas=(0.5, 0.999))
    for _ in range(20):
        x = torch.randn(5, 4)
        for network, optimiser in ((ours, mine), (theirs, reference)):
            optimiser.zero_grad()
            network(x).square().sum().backward()
            optimiser.step()
    np.testing.assert_allclose(ours.weight.detach().numpy(), theirs.weight.detach().numpy(), atol=1e-5)
