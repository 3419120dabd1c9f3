"""The maths of the algorithms on pictures against plain loops."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from cleanrl_worker.algorithms import c51_atari, dqn_atari, ppo_atari, ppo_rnd, rainbow_atari
from cleanrl_worker.sdk import convolution, optimizer
from cleanrl_worker.sdk.checkpoints.paged_array import SavedPages
from cleanrl_worker.sdk.frame_replay import FrameReplay
from cleanrl_worker.sdk.sum_tree import SumTree

ACTIONS = gym.spaces.Discrete(3)


@pytest.mark.parametrize("module", [c51_atari, rainbow_atari])
def test_the_projection_shares_each_return_between_its_neighbours(module: Any) -> None:
    generator = np.random.default_rng(0)
    atoms = torch.linspace(-2, 2, 9)
    pmfs = torch.from_numpy(generator.dirichlet(np.ones(9), size=5)).float()
    # One row beyond the range, one exactly on atoms.
    returns = torch.from_numpy(generator.normal(size=(5, 1))).float() + 0.9 * atoms
    returns[1], returns[2] = 7.0, atoms
    wanted = np.zeros((5, 9))
    for row, (probabilities, values) in enumerate(zip(pmfs, returns, strict=True)):
        for probability, value in zip(probabilities, values.clamp(-2, 2), strict=True):
            place = float(value + 2) / 0.5
            low, high = int(np.floor(place)), int(np.ceil(place))
            wanted[row, low] += float(probability) * (1 - (place - low))
            if high != low:
                wanted[row, high] += float(probability) * (place - low)
    projected = module.projected(pmfs, returns, atoms)
    np.testing.assert_allclose(projected, wanted, atol=1e-5)
    np.testing.assert_allclose(projected.sum(1), 1, atol=1e-5)


@pytest.mark.parametrize("module", [ppo_atari, ppo_rnd])
def test_advantages_are_those_of_a_plain_recursion(module: Any) -> None:
    generator = np.random.default_rng(1)
    rewards, dones = (
        generator.normal(size=(6, 2)).astype(np.float32),
        (generator.random((6, 2)) < 0.3).astype(np.float32),
    )
    values = generator.normal(size=(7, 2)).astype(np.float32)
    advantages, returns = module.gae(rewards, values, dones, gamma=0.9, gae_lambda=0.8)
    for env in range(2):
        following = 0.0
        for step in reversed(range(6)):
            goes_on = 1 - dones[step, env]
            delta = rewards[step, env] + 0.9 * goes_on * values[step + 1, env] - values[step, env]
            following = delta + 0.9 * 0.8 * goes_on * following
            assert advantages[step, env] == pytest.approx(following, abs=1e-5)
    np.testing.assert_allclose(returns, advantages + values[:-1], atol=1e-6)


def test_noise_in_a_layer_is_noise_in_each_weight() -> None:
    torch.manual_seed(0)
    layer = rainbow_atari.NoisyLinear(5, 4)
    with torch.no_grad():
        layer.weight_sigma.uniform_()
        layer.bias_sigma.uniform_()
        layer.set_noise(torch.randn(5), torch.randn(4))
    rows = torch.randn(3, 5)
    weight = layer.weight_mu + layer.weight_sigma * torch.outer(layer.output_noise, layer.input_noise)
    bias = layer.bias_mu + layer.bias_sigma * layer.output_noise
    torch.testing.assert_close(layer(rows), rows @ weight.T + bias)


def test_the_streams_of_rainbow_are_centred_and_make_distributions() -> None:
    network = rainbow_atari.QNetwork(ACTIONS, rainbow_atari.Args(n_atoms=7))
    pmfs = network(torch.randint(256, (2, 4, 84, 84), dtype=torch.uint8))
    assert pmfs.shape == (2, 3, 7)
    torch.testing.assert_close(pmfs.sum(2), torch.ones(2, 3))


def test_draws_follow_the_priorities() -> None:
    tree = SumTree(37)
    generator = np.random.default_rng(0)
    tree.put(np.arange(37), generator.random(37))
    tree.put(np.array([3, 36, 3]), np.array([9.0, 0.0, 2.0]))
    wanted = tree.priorities / tree.priorities.sum()
    assert tree.total == pytest.approx(tree.priorities.sum())
    assert (tree.priorities[3], tree.priorities[36]) == (2.0, 0.0)
    counts = np.bincount(np.concatenate([tree.draw(generator, 100) for _ in range(2000)]), minlength=37)
    np.testing.assert_allclose(counts / 200_000, wanted, atol=0.002)
    assert counts[36] == 0
    other = SumTree(37)
    other.load(tree.priorities)
    assert np.array_equal(other.draw(np.random.default_rng(5), 50), tree.draw(np.random.default_rng(5), 50))


def test_weights_make_up_for_priorities_and_new_steps_count_as_the_worst_so_far() -> None:
    args = rainbow_atari.Args(buffer_size=40, batch_size=8, n_step=1, prioritized_replay_alpha=0.6)
    replay = rainbow_atari.PrioritisedReplay(args, gym.spaces.Box(0, 255, (4, 1, 1), np.uint8))
    generator, never = np.random.default_rng(0), np.array([False])

    def add() -> None:
        picture = np.full((1, 4, 1, 1), generator.integers(256), np.uint8)
        replay.add(picture, picture, np.array([0]), np.array([0.0]), never, np.array([True]))

    for _ in range(6):
        add()
    assert np.allclose(np.sort(replay.tree.priorities)[-7:], [0, 1, 1, 1, 1, 1, 1])
    replay.sample(generator, 0.5)
    losses = np.linspace(3, 4, 8, dtype=np.float32)
    replay.learnt(losses)
    wanted = {place: (loss + 1e-6) ** 0.6 for place, loss in zip(replay.places.tolist(), losses.tolist(), strict=True)}
    for place, priority in wanted.items():
        assert replay.tree.priorities[place] == pytest.approx(priority)
    add()
    priorities = replay.tree.priorities
    assert priorities.max() == pytest.approx(4.000001**0.6)
    batch = replay.sample(generator, 0.5)
    weights = (7 * priorities[replay.places] / priorities.sum()) ** -0.5
    np.testing.assert_allclose(batch["weights"], weights / weights.max(), rtol=1e-5)


def test_n_steps_stop_at_ends_and_at_the_newest_step() -> None:
    space = gym.spaces.Box(0, 255, (4, 1, 1), np.uint8)
    buffer = FrameReplay(50, 1, space)
    clock = iter(range(1, 200))
    stack = np.full((1, 4, 1, 1), next(clock), np.uint8)
    steps: list[dict[str, Any]] = []
    # Terminated after 4 steps, cut off after 3 more, then 5 without an end.
    for number, ends in enumerate(["", "", "", "terminated", "", "", "cut", "", "", "", "", ""]):
        after = np.concatenate([stack[:, 1:], np.full((1, 1, 1, 1), next(clock), np.uint8)], axis=1)
        place = buffer.add(
            stack,
            after,
            np.array([1]),
            np.array([10.0**number]),
            np.array([ends == "terminated"]),
            np.array([ends == "cut"]),
        )
        steps.append({"place": place[0], "obs": stack, "after": after, "ends": ends, "reward": 10.0**number})
        stack = np.full((1, 4, 1, 1), next(clock), np.uint8) if ends else after
    batch = buffer.n_step(np.array([step["place"] for step in steps]), 3, 0.5)
    for index in range(len(steps)):
        reward, discount, last = 0.0, 1.0, index
        for ahead in range(index, min(index + 3, len(steps))):
            reward += discount * steps[ahead]["reward"]
            discount *= 0.5
            last = ahead
            if steps[ahead]["ends"]:
                break
        discount *= steps[last]["ends"] != "terminated"
        assert batch.rewards[index] == pytest.approx(reward)
        assert batch.dones[index] == pytest.approx(1 - discount)
        assert np.array_equal(batch.obs[index], steps[index]["obs"][0])
        assert np.array_equal(batch.next_obs[index], steps[last]["after"][0])


@pytest.mark.parametrize("resumed", [False, True])
def test_n_steps_do_not_cross_a_time_limit_even_if_the_next_episode_begins_with_the_same_pictures(
    resumed: bool,
) -> None:
    space = gym.spaces.Box(0, 255, (4, 1, 1), np.uint8)
    buffer, still = FrameReplay(50, 1, space), np.full((1, 4, 1, 1), 7, np.uint8)
    never, ends = np.array([False]), np.array([True])
    first = buffer.add(still, still, np.array([0]), np.array([1.0]), never, ends)
    if resumed:
        before, buffer = buffer, FrameReplay(50, 1, space)
        buffer.frames.array[:] = before.frames.array
        buffer.load({**before.state(), "frames": SavedPages(Path(), "frames", (0,), buffer.frames.array.shape)})
    buffer.add(still, still, np.array([0]), np.array([10.0]), never, never)
    batch = buffer.n_step(first, 3, 0.5)
    assert (batch.rewards[0], batch.dones[0]) == (1.0, 0.5)


def test_the_predictor_gets_better_at_what_it_has_seen() -> None:
    torch.manual_seed(0)
    curiosity = ppo_rnd.Curiosity()
    known, unknown = torch.randn(8, 1, 84, 84), torch.randn(8, 1, 84, 84)
    optimizer = torch.optim.Adam(curiosity.predictor.parameters(), lr=1e-3)
    before = curiosity(known).mean().item()
    for _ in range(15):
        optimizer.zero_grad()
        loss = curiosity(known).mean()
        loss.backward()
        optimizer.step()
    assert curiosity(known).mean().item() < before / 2
    assert curiosity(known).mean().item() < curiosity(unknown).mean().item()
    assert all(parameter.grad is None for parameter in curiosity.target.parameters())


def test_an_optimiser_comes_back_in_the_layout_of_its_weights() -> None:
    torch.manual_seed(0)

    def made() -> tuple[torch.nn.Conv2d, torch.optim.Adam]:
        layer = convolution.laid_out(torch.nn.Conv2d(4, 3, 3), torch.device("cpu"))
        return layer, optimizer.adam(layer, learning_rate=0.1)

    def train(layer: torch.nn.Conv2d, adam: torch.optim.Adam) -> None:
        adam.zero_grad()
        layer(
            convolution.pictures(torch.arange(4 * 25, dtype=torch.uint8).reshape(1, 4, 5, 5), torch.float32)
        ).square().sum().backward()
        adam.step()

    one, other = made(), made()
    train(*one)
    other[0].load_state_dict(one[0].state_dict())
    saved = optimizer.optimizer_state(one[1])
    # As a checkpoint holds them: contiguous.
    state = {
        key: {name: value.contiguous() for name, value in values.items()} for key, values in saved["state"].items()
    }
    optimizer.load_optimizer(other[1], {"state": state})
    for pair in (one, other):
        train(*pair)
    assert torch.equal(one[0].weight, other[0].weight)
    assert other[1].state[other[0].weight]["exp_avg"].stride() == other[0].weight.stride()


def network_of(module: Any) -> torch.nn.Module:
    torch.manual_seed(0)
    settings = (module.Args(),) if module in (c51_atari, rainbow_atari) else ()
    network = module.Agent if hasattr(module, "Agent") else module.QNetwork
    return convolution.laid_out(network(ACTIONS, *settings), torch.device("cpu"))


def some_stacks() -> torch.Tensor:
    return torch.randint(0, 255, (6, 4, 84, 84), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("module", [ppo_atari, ppo_rnd, dqn_atari, c51_atari, rainbow_atari])
def test_bfloat16_is_nearly_float32(module: Any) -> None:
    network, outputs, gradients = network_of(module), list[torch.Tensor](), list[torch.Tensor]()
    for bfloat16 in (True, False):
        network.zero_grad()
        outputs.append(flat(network(some_stacks(), bfloat16=bfloat16)))
        outputs[-1].square().sum().backward()
        gradients.append(flat(p.grad.clone() for p in network.parameters() if p.grad is not None))
    for rounded, exact in (outputs, gradients):
        assert rounded.dtype == torch.float32
        assert 0 < (rounded - exact).norm() < 0.03 * exact.norm()


def test_weights_are_rounded_once_while_acting_and_anew_after_an_update() -> None:
    network, stacks = network_of(dqn_atari), some_stacks()
    with torch.no_grad():
        before = network(stacks, bfloat16=True)
        with convolution.rounded_once(torch.device("cpu")):
            assert torch.equal(network(stacks, bfloat16=True), before)
        for parameter in network.parameters():
            parameter.mul_(1.1)
        with convolution.rounded_once(torch.device("cpu")):
            after = network(stacks, bfloat16=True)
        assert torch.equal(after, network(stacks, bfloat16=True))
        assert not torch.allclose(after, before)


def flat(tensors: torch.Tensor | Iterable[torch.Tensor]) -> torch.Tensor:
    return torch.cat([tensor.flatten() for tensor in tensors])
