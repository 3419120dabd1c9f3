"""TD3 and DDPG: the hand-written gradients are those of the definitions, which are what they claim to be."""

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from cleanrl_worker.algorithms import ddpg_continuous_action as ddpg
from cleanrl_worker.algorithms import td3_continuous_action as td3
from cleanrl_worker.sdk.fast import ddpg_continuous_action as fast_ddpg
from cleanrl_worker.sdk.fast import td3_continuous_action as fast_td3
from cleanrl_worker.sdk.policy import PolicyFile
from cleanrl_worker.sdk.replay import Transitions
from mosaic import config
from mosaic.errors import IncompatibleSpaces

OBS = gym.spaces.Box(-np.inf, np.inf, (5,), np.float32)
# Bounds that differ: CleanRL clips the target's actions to those of the first dimension.
ACTIONS = gym.spaces.Box(np.array([-1, -2, 0], np.float32), np.array([1, 2, 5], np.float32))
ROWS = 32
TAU = 0.1
COEFFICIENTS: dict[Any, Any] = {
    td3: td3.Coefficients(learning_rate=3e-4, gamma=0.9, tau=TAU, policy_noise=0.2, noise_clip=0.5),
    ddpg: ddpg.Coefficients(learning_rate=3e-4, gamma=0.9, tau=TAU),
}
FAST: dict[Any, Any] = {td3: fast_td3.FastLearner, ddpg: fast_ddpg.FastLearner}

both = pytest.mark.parametrize("algorithm", [td3, ddpg], ids=["td3", "ddpg"])


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def batch(rng: np.random.Generator) -> Transitions:
    return Transitions(
        obs=normal(rng, ROWS, 5),
        actions=rng.uniform(ACTIONS.low, ACTIONS.high, (ROWS, 3)).astype(np.float32),
        next_obs=normal(rng, ROWS, 5),
        rewards=normal(rng, ROWS),
        dones=rng.integers(0, 2, ROWS).astype(np.float32),
    )


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, dtype=np.float32)


def tensors(algorithm: Any, batch: Transitions) -> dict[str, torch.Tensor]:
    arrays = {name: torch.from_numpy(array) for name, array in batch._asdict().items()}
    return {**arrays, **{name: torch.tensor(value) for name, value in COEFFICIENTS[algorithm]._asdict().items()}}


def twins(algorithm: Any) -> tuple[Any, Any]:
    """The fast learner, and an agent with the same numbers for autograd; nothing is where it starts."""
    torch.manual_seed(0)
    agents = [algorithm.Agent(OBS, ACTIONS) for _ in range(2)]
    with torch.no_grad():
        agents[0].actor.fc_mu.weight.mul_(5)
        for name, parameter in agents[0].named_parameters():
            if name.startswith("target_"):
                parameter.add_(0.05 * torch.randn_like(parameter))
    agents[1].load_state_dict(agents[0].state_dict())
    return FAST[algorithm](agents[0]), agents[1]


def assert_same_gradients(learner: Any, agent: Any, name: str) -> None:
    for key, parameter in agent.get_submodule(name).named_parameters():
        scale = float(parameter.grad.abs().max())
        assert scale > 0, key
        gradient = learner.parameters[name].gradient_of[key]
        np.testing.assert_allclose(gradient, parameter.grad.numpy(), atol=1e-5 * min(scale, 1), rtol=1e-5, err_msg=key)


@both
def test_the_gradients_are_those_of_the_definitions(
    algorithm: Any, batch: Transitions, rng: np.random.Generator
) -> None:
    learner, agent = twins(algorithm)
    inputs, coefficients = tensors(algorithm, batch), COEFFICIENTS[algorithm]
    if algorithm is td3:
        # Large enough that some of it is clipped, and some actions leave their bounds.
        noise = 3 * normal(rng, ROWS, 3)
        target = td3.td_target(agent, inputs, torch.from_numpy(noise))
        mine = learner.smoothed_target(batch, noise, coefficients)
        loss, logged = td3.critic_loss(agent.critics, inputs, target)
    else:
        target, mine = ddpg.td_target(agent, inputs), learner.bootstrapped(batch, coefficients)
        loss, logged = ddpg.critic_loss(agent.qf1, inputs, target)
    np.testing.assert_allclose(mine, target.numpy(), rtol=1e-5, atol=1e-5)
    loss.backward()
    losses = learner.critic_gradient(batch, target.numpy())
    assert_same_gradients(learner, agent, "critics" if algorithm is td3 else "qf1")
    assert {name: float(value) for name, value in losses.items()} == pytest.approx(
        {name: float(value) for name, value in logged.items()}, rel=1e-5
    )
    loss = algorithm.actor_loss(agent, torch.from_numpy(batch.obs))
    loss.backward()
    found = learner.actor_gradient(batch.obs)
    assert_same_gradients(learner, agent, "actor")
    assert float(found) == pytest.approx(loss.item(), rel=1e-5)


def test_td3s_target_is_the_lower_critics_opinion_of_an_action_near_the_targets(
    batch: Transitions, rng: np.random.Generator
) -> None:
    _, agent = twins(td3)
    noise = 3 * normal(rng, ROWS, 3)
    expected: list[float] = []
    with torch.no_grad():
        for row in range(ROWS):
            obs = torch.from_numpy(batch.next_obs[row : row + 1])
            action = agent.target_actor(obs)[0]
            for index in range(3):
                half_range = (ACTIONS.high[index] - ACTIONS.low[index]) / 2
                shaken = float(action[index]) + max(-0.5, min(0.5, 0.2 * noise[row, index])) * half_range
                action[index] = float(np.clip(shaken, ACTIONS.low[index], ACTIONS.high[index]))
            critics = agent.target_critics
            value = min(critic(obs, action[None]).item() for critic in (critics.qf1, critics.qf2))
            expected.append(float(batch.rewards[row]) + (0.0 if batch.dones[row] else 0.9 * value))
    found = td3.td_target(agent, tensors(td3, batch), torch.from_numpy(noise))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5)


@both
def test_both_learners_stay_together(algorithm: Any, batch: Transitions) -> None:
    coefficients = COEFFICIENTS[algorithm]
    fast, agent = twins(algorithm)
    slow = algorithm.Learner(agent, algorithm.Args(), torch.device("cpu"))
    for learner in (fast, slow):
        torch.manual_seed(3)
        for _ in range(5):
            getattr(learner, "update_critics" if algorithm is td3 else "update_critic")(batch, coefficients)
            learner.update_policy(batch, coefficients)
    for name, flat in fast.parameters.items():
        for key, parameter in agent.get_submodule(name).named_parameters():
            # Adam turns a gradient near 0 into a step of either sign, hence an absolute tolerance of some steps' size.
            np.testing.assert_allclose(flat.value_of[key], parameter.detach().numpy(), atol=1e-4, err_msg=key)
    torch.manual_seed(4)
    mine = fast.act(batch.obs, 0.1)
    torch.manual_seed(4)
    np.testing.assert_allclose(mine, slow.act(batch.obs, 0.1), atol=1e-3)
    assert (mine >= ACTIONS.low).all()
    assert (mine <= ACTIONS.high).all()


@both
def test_the_targets_move_by_tau(algorithm: Any, batch: Transitions) -> None:
    learner, _ = twins(algorithm)
    names = ("actor", "critics" if algorithm is td3 else "qf1")
    before = {name: learner.parameters[f"target_{name}"].values.copy() for name in names}
    learner.update_policy(batch, COEFFICIENTS[algorithm])
    for name in names:
        expected = TAU * learner.parameters[name].values + (1 - TAU) * before[name]
        np.testing.assert_allclose(learner.parameters[f"target_{name}"].values, expected, atol=1e-6)


@both
def test_exploration_is_as_wide_as_asked_for(algorithm: Any, batch: Transitions) -> None:
    learner, agent = twins(algorithm)
    with torch.no_grad():
        agent.actor.fc_mu.weight.zero_()
        agent.actor.fc_mu.bias.zero_()
    learner.parameters["actor"].values[:] = 0
    drawn = learner.act(np.zeros((5000, 5), np.float32), 0.02)
    np.testing.assert_allclose(drawn.mean(0), [0, 0, 2.5], atol=0.01)
    np.testing.assert_allclose(drawn.std(0), 0.02 * np.array([1, 2, 2.5]), rtol=0.05)


@both
def test_a_policy_loaded_from_its_file_acts_as_the_actor(algorithm: Any, rng: np.random.Generator) -> None:
    torch.manual_seed(0)
    actor = algorithm.Actor(OBS, ACTIONS)
    file = PolicyFile(
        algo=algorithm.__name__.rpartition(".")[2],
        env_id="Some-v0",
        args=config.to_json(replace(algorithm.Args(), exploration_noise=0.01)),
        observation_space=OBS,
        action_space=ACTIONS,
        global_step=0,
        arrays={f"agent.{name}": value.numpy().copy() for name, value in actor.state_dict().items()},
    )
    obs = normal(rng, 2000, 5)
    with torch.no_grad():
        expected = actor(torch.from_numpy(obs)).numpy()
    policy = algorithm.load(file)
    np.testing.assert_allclose(policy.act(obs, rng, deterministic=True), expected, rtol=1e-5, atol=1e-5)
    spread = (policy.act(obs, rng, deterministic=False) - expected).std(0)
    np.testing.assert_allclose(spread, 0.01 * np.array([1, 2, 2.5]), rtol=0.1)


@both
def test_actions_without_bounds_are_refused(algorithm: Any) -> None:
    with pytest.raises(IncompatibleSpaces, match="finite bounds"):
        algorithm.Actor(OBS, gym.spaces.Box(-np.inf, np.inf, (2,), np.float32))
