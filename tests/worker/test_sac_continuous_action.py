"""SAC: the hand-written gradients are those of the definition, and the definition is what it claims to be."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch.distributions import AffineTransform, Independent, Normal, TanhTransform, TransformedDistribution

from cleanrl_worker.algorithms import sac_continuous_action as sac
from cleanrl_worker.algorithms.sac_continuous_action import Actor, Agent, Args, Coefficients, Learner
from cleanrl_worker.sdk.fast import FlatParameters
from cleanrl_worker.sdk.fast.networks.fused_adam import FusedAdam
from cleanrl_worker.sdk.fast.sac_continuous_action import FastLearner
from cleanrl_worker.sdk.policy import PolicyFile
from cleanrl_worker.sdk.replay import Transitions
from mosaic import config
from mosaic.errors import IncompatibleSpaces

OBS = gym.spaces.Box(-np.inf, np.inf, (5,), np.float32)
ACTIONS = gym.spaces.Box(np.array([-1, -2, 0], np.float32), np.array([1, 2, 5], np.float32))
ROWS = 32
COEFFICIENTS = Coefficients(policy_lr=3e-4, q_lr=1e-3, gamma=0.99, alpha=0.3)


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


def tensors(batch: Transitions) -> dict[str, torch.Tensor]:
    arrays = {name: torch.from_numpy(array) for name, array in batch._asdict().items()}
    return {**arrays, "gamma": torch.tensor(COEFFICIENTS.gamma)}


def alpha_of(learner: FastLearner) -> torch.Tensor:
    return torch.tensor(learner.weight_of_entropy(COEFFICIENTS))


def twins(**settings: object) -> tuple[FastLearner, Agent]:
    """The fast learner, and an agent with the same numbers for autograd; targets and alpha away from their start."""
    torch.manual_seed(0)
    agents = [Agent(OBS, ACTIONS) for _ in range(2)]
    with torch.no_grad():
        for target in agents[0].targets.parameters():
            target.add_(0.01 * torch.randn_like(target))
        agents[0].temperature["log_alpha"].fill_(-0.7)
    agents[1].load_state_dict(agents[0].state_dict())
    args = Args(**settings)  # type: ignore[arg-type]
    return FastLearner(agents[0], args, log_std_range=sac.LOG_STD_RANGE), agents[1]


def assert_same_gradients(learner: FastLearner, agent: Agent, name: str) -> None:
    for key, parameter in agent.get_submodule(name).named_parameters():
        assert parameter.grad is not None
        gradient = learner.parameters[name].gradient_of[key]
        scale = float(parameter.grad.abs().max())
        assert scale > 0, key
        np.testing.assert_allclose(gradient, parameter.grad.numpy(), atol=1e-5 * min(scale, 1), rtol=1e-5, err_msg=key)


def test_critic_gradient_is_that_of_the_definition(batch: Transitions, rng: np.random.Generator) -> None:
    learner, agent = twins()
    noise = normal(rng, ROWS, 3)
    target = sac.td_target(agent, tensors(batch), torch.from_numpy(noise), alpha_of(learner))
    np.testing.assert_allclose(learner.soft_target(batch, noise, COEFFICIENTS), target.numpy(), rtol=1e-5, atol=1e-5)
    loss, logged = sac.critic_loss(agent.critics, tensors(batch), target)
    loss.backward()
    losses = learner.critic_gradient(batch, target.numpy())
    assert_same_gradients(learner, agent, "critics")
    assert {name: float(value) for name, value in losses.items()} == pytest.approx(
        {name: float(value) for name, value in logged.items()}, rel=1e-5
    )


@pytest.mark.parametrize("settings", [{}, {"autotune": False}])
def test_actor_gradient_is_that_of_the_definition(
    batch: Transitions, rng: np.random.Generator, settings: dict[str, object]
) -> None:
    learner, agent = twins(**settings)
    noise = normal(rng, ROWS, 3)
    q_values = agent.critics(*map(torch.from_numpy, (batch.obs, batch.actions)))
    assert 0 < int((q_values[0] < q_values[1]).sum()) < ROWS, "both critics must be the lower one somewhere"
    loss = sac.actor_loss(agent, torch.from_numpy(batch.obs), torch.from_numpy(noise), alpha_of(learner))
    loss.backward()
    before = learner.parameters["critics"].gradient.copy()
    found = learner.actor_gradient(batch.obs, learner.actor.forward(batch.obs), noise, COEFFICIENTS)
    assert_same_gradients(learner, agent, "actor")
    assert float(found) == pytest.approx(loss.item(), rel=1e-5)
    np.testing.assert_array_equal(learner.parameters["critics"].gradient, before)


def test_actor_gradient_where_one_critic_is_lower_everywhere(batch: Transitions, rng: np.random.Generator) -> None:
    learner, agent = twins()
    agent.critics.requires_grad_(False)
    agent.critics.qf2.fc3.bias += 10
    learner.parameters["critics"].value_of["qf2.fc3.bias"][:] += 10
    noise = normal(rng, ROWS, 3)
    sac.actor_loss(agent, torch.from_numpy(batch.obs), torch.from_numpy(noise), alpha_of(learner)).backward()
    learner.actor_gradient(batch.obs, learner.actor.forward(batch.obs), noise, COEFFICIENTS)
    assert_same_gradients(learner, agent, "actor")


def test_alpha_gradient_is_that_of_the_definition(batch: Transitions, rng: np.random.Generator) -> None:
    learner, agent = twins()
    noise = normal(rng, ROWS, 3)
    loss = sac.alpha_loss(agent, torch.from_numpy(batch.obs), torch.from_numpy(noise))
    loss.backward()
    found = learner.alpha_gradient(learner.actor.forward(batch.obs), noise)
    assert_same_gradients(learner, agent, "temperature")
    assert found == pytest.approx(loss.item(), rel=1e-5)


@pytest.mark.parametrize("settings", [{}, {"autotune": False}, {"policy_frequency": 3}])
def test_both_learners_stay_together(batch: Transitions, settings: dict[str, object]) -> None:
    fast, agent = twins(**settings)
    slow = Learner(agent, Args(**settings), torch.device("cpu"))  # type: ignore[arg-type]
    losses: list[dict[str, float]] = []
    for learner in (fast, slow):
        torch.manual_seed(3)
        for _ in range(5):
            logged = {**learner.update_critics(batch, COEFFICIENTS), **learner.update_policy(batch, COEFFICIENTS)}
            learner.update_targets(0.005)
        losses.append({name: float(value) for name, value in logged.items()})
    for name, flat in fast.parameters.items():
        for key, parameter in agent.get_submodule(name).named_parameters():
            # Adam turns a gradient near 0 into a step of either sign, hence an absolute tolerance of some steps' size.
            np.testing.assert_allclose(flat.value_of[key], parameter.detach().numpy(), atol=1e-4, err_msg=key)
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_a_loaded_learner_goes_on_bit_for_bit(batch: Transitions) -> None:
    learner, _ = twins()
    fresh, _ = twins()

    def go_on(which: FastLearner) -> np.ndarray:
        torch.manual_seed(5)
        for _ in range(3):
            which.update_critics(batch, COEFFICIENTS)
            which.update_policy(batch, COEFFICIENTS)
            which.update_targets(0.005)
        return np.concatenate([flat.values for flat in which.parameters.values()])

    go_on(learner)
    fresh.load({**learner.state(), "parameters": {k: v.copy() for k, v in learner.state()["parameters"].items()}})
    np.testing.assert_array_equal(go_on(learner), go_on(fresh))


def test_fused_adam_steps_as_torchs_adam(rng: np.random.Generator) -> None:
    torch.manual_seed(0)
    layer, reference = torch.nn.Linear(40, 30), torch.nn.Linear(40, 30)
    reference.load_state_dict(layer.state_dict())
    flat = FlatParameters(layer)
    fused, adam = FusedAdam(flat), torch.optim.Adam(reference.parameters(), lr=1e-3)
    for _ in range(20):
        for name, parameter in reference.named_parameters():
            parameter.grad = torch.from_numpy(normal(rng, *parameter.shape))
            flat.gradient_of[name][...] = parameter.grad.numpy()
        adam.step()
        fused.step(1e-3)
    for name, parameter in reference.named_parameters():
        np.testing.assert_allclose(flat.value_of[name], parameter.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_log_probability_is_that_of_a_transformed_normal(rng: np.random.Generator) -> None:
    torch.manual_seed(0)
    actor = Actor(OBS, ACTIONS)
    obs, noise = torch.from_numpy(normal(rng, ROWS, 5)), torch.from_numpy(normal(rng, ROWS, 3))
    with torch.no_grad():
        mean, log_std = actor(obs)
        actions, logprob = actor.get_action(obs, noise)
    transforms = [TanhTransform(), AffineTransform(actor.action_bias.double(), actor.action_scale.double())]
    squashed = TransformedDistribution(Normal(mean.double(), log_std.double().exp()), transforms)
    expected = Independent(squashed, 1).log_prob(actions.double())
    np.testing.assert_allclose(logprob.numpy(), expected.numpy(), rtol=1e-3)
    assert (log_std > sac.LOG_STD_MIN).all()
    assert (log_std < sac.LOG_STD_MAX).all()
    assert (np.abs(actions.numpy() - actor.action_bias.numpy()) <= actor.action_scale.numpy()).all()


def test_polyak_update_is_the_plain_loop() -> None:
    learner, agent = twins()
    before = {name: value.clone() for name, value in agent.targets.named_parameters()}
    learner.update_targets(0.1)
    for name, value in agent.critics.named_parameters():
        expected = 0.1 * value.detach() + 0.9 * before[name]
        np.testing.assert_allclose(learner.parameters["targets"].value_of[name], expected.numpy(), atol=1e-7)


def test_policy_loaded_from_its_file_acts_as_the_actor(rng: np.random.Generator) -> None:
    torch.manual_seed(0)
    actor = Actor(OBS, ACTIONS)
    arrays = {f"agent.{name}": value.numpy().copy() for name, value in actor.state_dict().items()}
    file = PolicyFile(
        algo="sac_continuous_action",
        env_id="Some-v0",
        args=config.to_json(Args()),
        observation_space=OBS,
        action_space=ACTIONS,
        global_step=0,
        arrays=arrays,
    )
    obs = normal(rng, 4, 5)
    with torch.no_grad():
        mean, _ = actor(torch.from_numpy(obs))
    expected = torch.tanh(mean) * actor.action_scale + actor.action_bias
    policy = sac.load(file)
    np.testing.assert_allclose(policy.act(obs, rng, deterministic=True), expected.numpy(), rtol=1e-5, atol=1e-6)
    drawn = [policy.act(obs, np.random.default_rng(7), deterministic=False) for _ in range(2)]
    np.testing.assert_array_equal(*drawn)
    assert not np.allclose(drawn[0], expected.numpy())


def test_actions_without_bounds_are_refused() -> None:
    with pytest.raises(IncompatibleSpaces, match="finite bounds"):
        Actor(OBS, gym.spaces.Box(-np.inf, np.inf, (2,), np.float32))
