"""The numpy fast path agrees with torch: parameters, networks, Adam, and the hand-written PPO and DQN gradients."""

import copy
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from cleanrl_worker.sdk.fast import Adam, FlatParameters, Mlp, clip_gradient_norm, dqn_gradient, ppo_gradient
from cleanrl_worker.sdk.fast.operands import operand


class Agent(nn.Module):
    """The shapes of PPO with a Gaussian policy."""

    def __init__(self, activation: type[nn.Module] = nn.Tanh) -> None:
        super().__init__()
        self.critic = network(5, 16, 12, 1, activation=activation)
        self.actor_mean = network(5, 16, 12, 3, activation=activation)
        self.actor_logstd = nn.Parameter(torch.zeros(1, 3))


def network(*sizes: int, activation: type[nn.Module] = nn.Tanh) -> nn.Sequential:
    modules: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        modules += [nn.Linear(inputs, outputs), activation()]
    return nn.Sequential(*modules[:-1])


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, dtype=np.float32)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_flat_parameters_keep_the_values_and_share_them_both_ways(rng: np.random.Generator) -> None:
    agent = Agent()
    before = copy.deepcopy(agent.state_dict())
    flat = FlatParameters(agent)
    assert list(flat.value_of) == [name for name, _ in agent.named_parameters()]
    for name, value in agent.state_dict().items():
        assert torch.equal(value, before[name])

    flat.values[:] = normal(rng, flat.values.size)
    for name, value in agent.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), flat.value_of[name])
    agent.load_state_dict(before)
    for name, value in before.items():
        np.testing.assert_array_equal(value.numpy(), flat.value_of[name])
    assert flat.values.sum() == pytest.approx(sum(float(v.sum()) for v in before.values()), abs=1e-4)


def test_flat_parameters_survive_saving_and_copying(tmp_path, rng: np.random.Generator) -> None:
    agent = Agent()
    flat = FlatParameters(agent)
    torch.save(agent.state_dict(), tmp_path / "agent.pt")
    loaded = Agent()
    loaded.load_state_dict(torch.load(tmp_path / "agent.pt", weights_only=True))
    twin = FlatParameters(copy.deepcopy(agent))
    np.testing.assert_array_equal(FlatParameters(loaded).values, flat.values)
    np.testing.assert_array_equal(twin.values, flat.values)
    twin.values += 1
    assert not np.array_equal(twin.values, flat.values)


def test_autograd_adds_into_the_flat_gradient(rng: np.random.Generator) -> None:
    agent, x = Agent(), torch.from_numpy(normal(rng, 7, 5))
    reference = copy.deepcopy(agent)
    flat = FlatParameters(agent)
    for module in (agent, reference):
        (module.actor_mean(x).square().sum() + module.critic(x).sum() + module.actor_logstd.exp().sum()).backward()
    for name, parameter in reference.named_parameters():
        np.testing.assert_allclose(flat.gradient_of[name], parameter.grad.numpy(), rtol=1e-5, atol=1e-6)
    assert np.count_nonzero(flat.gradient) > 0.9 * flat.gradient.size


def test_flat_parameters_refuse_other_types() -> None:
    with pytest.raises(ValueError, match="float64"):
        FlatParameters(Agent().double())


@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU])
@pytest.mark.parametrize("rows", [1, 4, 64])
def test_mlp_matches_torch_forward_and_backward(
    activation: type[nn.Module], rows: int, rng: np.random.Generator
) -> None:
    agent = Agent(activation)
    reference = copy.deepcopy(agent)
    flat = FlatParameters(agent)
    mlps = {"actor_mean": Mlp(flat, agent.actor_mean, "actor_mean"), "critic": Mlp(flat, agent.critic, "critic")}
    for name, mlp in mlps.items():
        x, torch_network = normal(rng, rows, 5), getattr(reference, name)
        torch_x = torch.from_numpy(x).requires_grad_()
        expected = torch_network(torch_x)
        grad = normal(rng, *expected.shape)
        expected.backward(torch.from_numpy(grad))
        np.testing.assert_allclose(mlp.forward(x), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(mlp.infer(x + 1), mlp.infer(x + 1))
        grad_input = np.copy(mlp.backward(grad, input_gradient=True))
        np.testing.assert_allclose(grad_input, torch_x.grad.numpy(), rtol=1e-4, atol=1e-5)
        for key, parameter in torch_network.named_parameters():
            np.testing.assert_allclose(
                flat.gradient_of[f"{name}.{key}"], parameter.grad.numpy(), rtol=1e-4, atol=1e-5, err_msg=key
            )
        kept = flat.gradient.copy()
        mlp.forward(x)
        doubled = mlp.backward(2 * grad, input_gradient=True, weight_gradient=False)
        np.testing.assert_array_equal(doubled, 2 * grad_input)
        np.testing.assert_array_equal(flat.gradient, kept)
        assert mlp.backward(grad) is None
        assert not flat.gradient_of["actor_logstd"].any()


def test_mlp_accepts_a_lone_linear_layer_and_either_memory_order(rng: np.random.Generator) -> None:
    sequential = network(5, 3)
    flat = FlatParameters(sequential)
    mlp = Mlp(flat, sequential, "")
    x, grad = normal(rng, 8, 5), normal(rng, 8, 3)
    np.testing.assert_allclose(mlp.forward(np.asfortranarray(x)), sequential(torch.from_numpy(x)).detach(), atol=1e-6)
    by_rows = mlp.backward(grad, input_gradient=True)
    assert by_rows is not None
    by_rows, gradient = by_rows.copy(), flat.gradient.copy()
    by_columns = mlp.backward(np.asfortranarray(grad), input_gradient=True)
    np.testing.assert_allclose(by_columns, by_rows, atol=1e-6)
    np.testing.assert_allclose(flat.gradient, gradient, atol=1e-5)


@pytest.mark.parametrize(
    "sequential",
    [
        nn.Sequential(nn.Linear(4, 4), nn.Tanh()),
        nn.Sequential(nn.Linear(4, 4), nn.Sigmoid(), nn.Linear(4, 2)),
        nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.ReLU(), nn.Linear(4, 2)),
        nn.Sequential(nn.Linear(4, 2, bias=False)),
    ],
)
def test_mlp_refuses_what_it_cannot_compute(sequential: nn.Sequential) -> None:
    with pytest.raises(ValueError, match=r"linear layer|Tanh"):
        Mlp(FlatParameters(sequential), sequential, "")


@pytest.mark.parametrize("shape", [(5,), (3, 4), (3, 1), (2, 3, 5)])
def test_mlp_refuses_a_batch_that_would_broadcast(shape: tuple[int, ...]) -> None:
    sequential = network(5, 3)
    with pytest.raises(ValueError, match="rows, 5"):
        Mlp(FlatParameters(sequential), sequential, "").infer(np.zeros(shape, np.float32))


@pytest.mark.parametrize("eps", [1e-5, 1e-8])
def test_adam_matches_torch_over_200_steps(eps: float, rng: np.random.Generator) -> None:
    agent = Agent()
    reference = copy.deepcopy(agent)
    flat = FlatParameters(agent)
    adam = Adam(flat, eps=eps)
    optimizer = torch.optim.Adam(reference.parameters(), lr=1e-3, eps=eps, foreach=False)
    for step in range(200):
        flat.gradient[:] = normal(rng, flat.gradient.size) * 10.0 ** rng.uniform(-4, 1)
        for name, parameter in reference.named_parameters():
            parameter.grad = torch.from_numpy(flat.gradient_of[name].copy())
        learning_rate = 1e-3 * (1 - step / 200)
        optimizer.param_groups[0]["lr"] = learning_rate
        norm = clip_gradient_norm(flat.gradient, 0.5)
        expected_norm = nn.utils.clip_grad_norm_(reference.parameters(), 0.5)
        assert norm == pytest.approx(float(expected_norm), rel=1e-5)
        adam.step(learning_rate)
        optimizer.step()
    for name, parameter in reference.named_parameters():
        np.testing.assert_allclose(flat.value_of[name], parameter.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_adam_goes_on_bit_for_bit_from_a_saved_state(rng: np.random.Generator) -> None:
    flat = FlatParameters(Agent())
    adam = Adam(flat)
    gradients = normal(rng, 10, flat.gradient.size)
    for gradient in gradients[:5]:
        flat.gradient[:] = gradient
        adam.step(1e-3)
    state, values = adam.state(), flat.values.copy()
    ends = []
    for optimizer in (adam, Adam(flat)):
        flat.values[:] = values
        optimizer.load(state)
        for gradient in gradients[5:]:
            flat.gradient[:] = gradient
            optimizer.step(1e-3)
        ends.append(flat.values.copy())
    np.testing.assert_array_equal(ends[0], ends[1])
    with pytest.raises(ValueError, match="shape"):
        adam.load({**state, "square_sum": np.zeros(3, np.float32)})


def test_clip_gradient_norm_leaves_small_gradients_and_spreads_nan() -> None:
    gradient = np.array([0.3, 0.4], np.float32)
    assert clip_gradient_norm(gradient, 1.0) == pytest.approx(0.5)
    np.testing.assert_array_equal(gradient, np.array([0.3, 0.4], np.float32))
    gradient[0] = np.nan
    clip_gradient_norm(gradient, 1.0)
    assert np.isnan(gradient).all()


def torch_surrogate(logprob: torch.Tensor, old: torch.Tensor, advantages: torch.Tensor, clip: float):
    """CleanRL's ppo.py, verbatim but for the names of its batches."""
    logratio = logprob - old
    ratio = logratio.exp()
    with torch.no_grad():
        old_approx_kl = (-logratio).mean()
        approx_kl = ((ratio - 1) - logratio).mean()
        clipfrac = ((ratio - 1.0).abs() > clip).float().mean()
    pg_loss1 = -advantages * ratio
    pg_loss2 = -advantages * torch.clamp(ratio, 1 - clip, 1 + clip)
    return torch.max(pg_loss1, pg_loss2).mean(), old_approx_kl.item(), approx_kl.item(), clipfrac.item()


def torch_value_loss(new: torch.Tensor, returns: torch.Tensor, old: torch.Tensor, clip: float, *, clip_vloss: bool):
    if not clip_vloss:
        return 0.5 * ((new - returns) ** 2).mean()
    unclipped = (new - returns) ** 2
    clipped = (old + torch.clamp(new - old, -clip, clip) - returns) ** 2
    return 0.5 * torch.max(unclipped, clipped).mean()


OFFSETS = {"first minibatch": 0.0, "near": 0.05, "around the border": 0.3, "far": 2.0}


@pytest.mark.parametrize("offset", OFFSETS.values(), ids=OFFSETS.keys())
@pytest.mark.parametrize(("rows", "width", "ent_coef"), [(128, 2, 0.01), (64, 6, 0.0), (7, 3, 0.5), (1, 2, 0.01)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_categorical_gradient_matches_autograd(
    offset: float, rows: int, width: int, ent_coef: float, order: str, rng: np.random.Generator
) -> None:
    logits = np.asarray(3 * normal(rng, rows, width), order=order)
    actions, advantages = rng.integers(0, width, rows), normal(rng, rows)
    torch_logits = torch.tensor(logits, requires_grad=True)
    policy = torch.distributions.Categorical(logits=torch_logits)
    logprob = policy.log_prob(torch.tensor(actions))
    np.testing.assert_allclose(
        ppo_gradient.categorical_log_prob(logits, actions), logprob.detach().numpy(), rtol=1e-5, atol=1e-6
    )
    noise = offset * normal(rng, rows)
    old = ppo_gradient.categorical_log_prob(logits, actions) - noise
    pg_loss, *diagnostics = torch_surrogate(logprob, torch.tensor(old), torch.tensor(advantages), 0.2)
    entropy = policy.entropy().mean()
    (pg_loss - ent_coef * entropy).backward()

    result = ppo_gradient.categorical(logits, actions, old, advantages, clip_coef=0.2, ent_coef=ent_coef)
    np.testing.assert_allclose(result.grad_logits, torch_logits.grad.numpy(), atol=1e-5, rtol=0)
    assert result[1:] == pytest.approx((pg_loss.item(), entropy.item(), *diagnostics), rel=1e-4, abs=1e-5)
    assert result.grad_logits.dtype == np.float32


@pytest.mark.parametrize("offset", OFFSETS.values(), ids=OFFSETS.keys())
@pytest.mark.parametrize(("rows", "width", "ent_coef"), [(64, 6, 0.0), (32, 17, 0.01), (1, 1, 0.1)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_gaussian_gradient_matches_autograd(
    offset: float, rows: int, width: int, ent_coef: float, order: str, rng: np.random.Generator
) -> None:
    mean, logstd = np.asarray(normal(rng, rows, width), order=order), 0.3 * normal(rng, 1, width)
    actions = ppo_gradient.sample_gaussian(mean, np.exp(logstd), normal(rng, rows, width))
    advantages = normal(rng, rows)
    torch_mean, torch_logstd = torch.tensor(mean, requires_grad=True), torch.tensor(logstd, requires_grad=True)
    policy = torch.distributions.Normal(torch_mean, torch_logstd.expand_as(torch_mean).exp())
    logprob = policy.log_prob(torch.tensor(actions)).sum(1)
    np.testing.assert_allclose(
        ppo_gradient.gaussian_log_prob(mean, logstd, actions), logprob.detach().numpy(), rtol=1e-5, atol=1e-5
    )
    # From torch's own log-probability, so that the ratio of the first minibatch is 1 there too.
    old = logprob.detach().numpy() - offset * normal(rng, rows)
    pg_loss, *diagnostics = torch_surrogate(logprob, torch.tensor(old), torch.tensor(advantages), 0.2)
    entropy = policy.entropy().sum(1).mean()
    (pg_loss - ent_coef * entropy).backward()

    result = ppo_gradient.gaussian(mean, logstd, actions, old, advantages, clip_coef=0.2, ent_coef=ent_coef)
    np.testing.assert_allclose(result.grad_mean, torch_mean.grad.numpy(), atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(result.grad_logstd, torch_logstd.grad.numpy(), atol=1e-5, rtol=1e-5)
    assert result[2:] == pytest.approx((pg_loss.item(), entropy.item(), *diagnostics), rel=1e-4, abs=1e-5)
    assert result.grad_mean.dtype == result.grad_logstd.dtype == np.float32


def test_the_surrogate_agrees_exactly_on_and_around_the_clipping_border() -> None:
    # One action makes the log-probability 0 whatever the logit, so the old one alone sets the ratio; the gradient is
    # read off the entropy-free coefficient by autograd on the log-probability itself.
    ratios = np.array([0.8, 1.2, 1.0, 0.8, 1.2, 0.79, 1.21, 0.79, 1.21, 1.2, 1.5], np.float32)
    advantages = np.array([1, 1, 1, -1, -1, 1, 1, -1, -1, 0, 0], np.float32)
    # exp and log round: step to the float32 whose exponential is the border itself.
    old = -np.log(ratios.astype(np.float64)).astype(np.float32)
    for i, ratio in enumerate(ratios):
        candidates = np.nextafter(old[i], np.array([-9, old[i], 9], np.float32))
        old[i] = candidates[np.abs(np.exp(-candidates) - ratio).argmin()]
    logprob = torch.zeros(len(ratios), requires_grad=True)
    loss, *diagnostics = torch_surrogate(logprob, torch.tensor(old), torch.tensor(advantages), 0.2)
    loss.backward()
    surrogate = ppo_gradient.surrogate(np.zeros_like(old), old, advantages, clip_coef=0.2)
    np.testing.assert_allclose(surrogate.grad_logprob, logprob.grad.numpy(), atol=1e-6, rtol=0)
    assert surrogate[1:] == pytest.approx((loss.item(), *diagnostics), abs=1e-6)
    assert np.count_nonzero(np.isin(np.exp(-old), [np.float32(0.8), np.float32(1.2)])) >= 3


@pytest.mark.parametrize("clip_vloss", [True, False])
@pytest.mark.parametrize("shape", [(64,), (64, 1)])
def test_value_gradient_matches_autograd(clip_vloss: bool, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    for spread in (0.0, 0.05, 0.3, 2.0):
        old, returns = normal(rng, 64), normal(rng, 64)
        new = (old + spread * normal(rng, 64)).reshape(shape)
        torch_new = torch.tensor(new, requires_grad=True)
        loss = torch_value_loss(
            torch_new.view(-1), torch.tensor(returns), torch.tensor(old), 0.2, clip_vloss=clip_vloss
        )
        (0.5 * loss).backward()
        grad, v_loss = ppo_gradient.value(new, returns, old, clip_coef=0.2, clip_vloss=clip_vloss, vf_coef=0.5)
        np.testing.assert_allclose(grad, torch_new.grad.numpy(), atol=1e-6, rtol=1e-5)
        assert grad.shape == shape
        assert v_loss == pytest.approx(loss.item(), rel=1e-5)


def test_value_gradient_on_the_clip_border_and_at_ties() -> None:
    # Powers of two are exact in float32: on the border, just outside, and outside with branches equally far from R.
    clip = 0.25
    old = np.zeros(7, np.float32)
    new = np.array([0.25, -0.25, 0.5, -0.5, 0.5, 0.75, 0.0], np.float32)
    returns = np.array([1.0, 1.0, 0.0, 2.0, 0.375, 0.5, 0.0], np.float32)
    torch_new = torch.tensor(new, requires_grad=True)
    loss = torch_value_loss(torch_new, torch.tensor(returns), torch.tensor(old), clip, clip_vloss=True)
    loss.backward()
    grad, v_loss = ppo_gradient.value(new, returns, old, clip_coef=clip, clip_vloss=True, vf_coef=1.0)
    np.testing.assert_allclose(grad, torch_new.grad.numpy(), atol=1e-7, rtol=0)
    assert v_loss == pytest.approx(loss.item())


def test_categorical_samples_follow_the_softmax(rng: np.random.Generator) -> None:
    logits = np.tile(np.log(np.array([0.1, 0.2, 0.7], np.float32)), (100_000, 1))
    noise = ppo_gradient.gumbel(rng, logits.shape)
    assert np.isfinite(noise).all()
    actions = ppo_gradient.sample_categorical(logits, noise)
    np.testing.assert_allclose(np.bincount(actions) / len(actions), [0.1, 0.2, 0.7], atol=0.006)


@pytest.mark.parametrize(("rows", "width"), [(128, 2), (32, 18), (1, 3)])
def test_dqn_gradient_matches_autograd(rows: int, width: int, rng: np.random.Generator) -> None:
    q_values, target, actions = normal(rng, rows, width), normal(rng, rows), rng.integers(0, width, rows)
    torch_q = torch.tensor(q_values, requires_grad=True)
    chosen = torch_q.gather(1, torch.tensor(actions)[:, None]).squeeze(1)
    loss = nn.functional.mse_loss(torch.tensor(target), chosen)
    loss.backward()
    result = dqn_gradient.td_loss(q_values, actions, target)
    np.testing.assert_allclose(result.grad_q_values, torch_q.grad.numpy(), atol=1e-6, rtol=1e-5)
    assert result[1:] == pytest.approx((loss.item(), chosen.mean().item()), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("value", [0.2, 1 - 0.2, 1 / 3, -1 / 128, 0.999, 1e-30])
def test_an_operand_has_the_bits_of_its_number(rng: np.random.Generator, value: float) -> None:
    x = normal(rng, 257)
    for operation in (np.multiply, np.add, np.subtract, np.minimum, np.greater):
        np.testing.assert_array_equal(operation(x, operand(value)), operation(x, value), strict=True)
    with pytest.raises(ValueError, match="read-only"):
        operand(value)[()] = 0


def test_coefficients_that_change_reach_the_gradient_also_as_arrays(rng: np.random.Generator) -> None:
    logits, actions = normal(rng, 32, 3), rng.integers(0, 3, 32)
    logprobs, advantages = normal(rng, 32) - 1, normal(rng, 32)
    schedule = np.array(0.0)

    def gradient(ent_coef: float) -> np.ndarray:
        return ppo_gradient.categorical(
            logits, actions, logprobs, advantages, clip_coef=0.2, ent_coef=ent_coef
        ).grad_logits

    for value in (0.1, 0.7):
        schedule[()] = value
        np.testing.assert_array_equal(gradient(schedule), gradient(value))  # type: ignore[arg-type]
    assert not np.array_equal(gradient(0.1), gradient(0.7))
