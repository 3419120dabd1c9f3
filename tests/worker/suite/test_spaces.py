"""PPO in other spaces: several choices at once, action masks, parts and grids; in training, resume and evaluation."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch.distributions import Bernoulli, Categorical
from worker_cases import ascend_the_policy_gradient
from worker_runs import (
    curve_of,
    evaluated_returns,
    events_of,
    final_files,
    new_run,
    policy_of,
    resume,
    signal_after_a_checkpoint,
    train,
)

from cleanrl_worker import cli
from cleanrl_worker.algorithms import ppo
from cleanrl_worker.sdk import part_networks, policy
from mosaic.envs import choice_tasks
from mosaic.envs.observations.parted_rows import PartedRows, how_seen
from mosaic.spec.events import RunStarted, Warned
from mosaic.spec.run_dir import RunDir

Box = gym.spaces.Box
BRIEF = ("--num-steps=32", "--total-timesteps=512", "--checkpoint-interval-steps=128", "--no-tensorboard", "--no-cuda")
SPACES = {
    "masks": ("mosaic/Doors-v0",),
    "several choices with masks": ("mosaic/Dials-v0",),
    "switches of a Tuple": ("mosaic/Switches-v0",),
    "a picture and a number": ("mosaic/Signpost-v0", "--network=parts"),
    "a grid": ("mosaic/Catch-v0", "--network=parts"),
    "masks in other wrappings": ("mosaic/Dials-v0", "--env-backend=sync", "--network=parts"),
}


def flags_of(space: str) -> tuple[str, ...]:
    env_id, *more = SPACES[space]
    return ("--algo=ppo", f"--env-id={env_id}", *more, *BRIEF)


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("sizes", [(4,), (3, 4), (2, 2, 5)])
def test_choices_have_the_joint_distribution_of_their_elements(sizes: tuple[int, ...]) -> None:
    logits = normal(50, sum(sizes))
    found = ppo.Choices(logits, sizes)
    parts = [Categorical(logits=part) for part in logits.split(list(sizes), 1)]
    actions = torch.stack([part.sample() for part in parts], 1)
    wanted = torch.stack([part.log_prob(column) for part, column in zip(parts, actions.unbind(1), strict=True)]).sum(0)
    torch.testing.assert_close(found.log_prob(actions), wanted)
    torch.testing.assert_close(found.entropy(), torch.stack([part.entropy() for part in parts]).sum(0))
    if len(sizes) == 1:
        torch.testing.assert_close(found.log_prob(actions[:, 0]), wanted)


def test_switches_are_bernoulli() -> None:
    logits = normal(50, 6)
    found = ppo.Choices(logits, (2, 2, 2))
    wanted = Bernoulli(logits=logits[:, 1::2] - logits[:, ::2])
    actions = wanted.sample()
    torch.testing.assert_close(found.log_prob(actions.long()), wanted.log_prob(actions).sum(1))
    torch.testing.assert_close(found.entropy(), wanted.entropy().sum(1))


def masked_agent(action_space: Any, rows: int = 64) -> tuple[ppo.Agent, torch.Tensor, torch.Tensor]:
    """An agent, observations with a mask behind three numbers, and the masks."""
    torch.manual_seed(0)
    size = sum(ppo.sizes_of(action_space))
    agent = ppo.Agent(PartedRows({"vector": Box(-9, 9, (3,)), "action_mask": Box(0, 1, (size,))}), action_space)
    with torch.no_grad():
        for parameter in agent.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    mask = normal(rows, size) > 0
    for first, width in zip(np.cumsum((0, *agent.sizes[:-1])), agent.sizes, strict=True):
        mask[torch.arange(rows), int(first) + torch.arange(rows) % width] = True
    return agent, torch.cat([normal(rows, 3), mask.float()], 1), mask


class Given(torch.nn.Module):
    """A network with these outputs, whatever it is asked."""

    def __init__(self, outputs: torch.Tensor) -> None:
        super().__init__()
        self.outputs = outputs

    def forward(self, _: torch.Tensor) -> torch.Tensor:
        return self.outputs


def test_what_a_mask_forbids_has_no_chance_and_no_gradient() -> None:
    agent, obs, mask = masked_agent(gym.spaces.Discrete(5))
    logits = agent.actor(obs[:, :3]).detach().requires_grad_()
    agent.actor = Given(logits)
    probabilities = logits.softmax(1) * mask
    wanted = Categorical(probs=probabilities / probabilities.sum(1, keepdim=True))
    found = ppo.Choices(agent.logits(obs), agent.sizes)
    assert not found.elements[0].probs[~mask].any()
    actions = wanted.sample()
    torch.testing.assert_close(found.log_prob(actions), wanted.log_prob(actions))
    torch.testing.assert_close(found.entropy(), wanted.entropy())
    (found.log_prob(actions) + found.entropy()).sum().backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert not logits.grad[~mask].any()
    assert logits.grad[mask].any()


@pytest.mark.parametrize("offset", [0.0, 0.3])
def test_the_numpy_gradient_of_masked_choices_is_that_of_the_definition(offset: float) -> None:
    agent, obs, mask = masked_agent(gym.spaces.Discrete(5))
    args = ppo.Args(cuda=False)
    learner = ppo.FastLearner(agent, args, masked=agent.masked)
    actions = Categorical(mask.float()).sample().numpy()
    rows = obs.numpy()
    batch = ppo.Batch(
        obs=rows,
        actions=actions,
        logprobs=learner.log_probs(rows, actions) + offset * normal(64).numpy(),
        advantages=normal(64, 1)[:, 0].numpy(),
        returns=normal(64, 2)[:, 0].numpy(),
        values=learner.values(rows) + offset * normal(64, 3)[:, 0].numpy(),
    )
    coefficients = {"learning_rate": 1e-4, "clip_coef": 0.2, "ent_coef": 0.02, "vf_coef": 0.5}
    losses = learner.gradient(batch, ppo.Coefficients(**coefficients))
    by_hand = learner.parameters.gradient.copy()
    learner.parameters.gradient[:] = 0
    tensors = {name: torch.as_tensor(value) for name, value in (batch._asdict() | coefficients).items()}
    loss, logged = ppo.ppo_loss(agent, tensors, args)
    loss.backward()
    np.testing.assert_allclose(by_hand, learner.parameters.gradient, atol=1e-5, rtol=1e-4)
    for name, value in logged.items():
        assert losses[name] == pytest.approx(value.item(), rel=1e-4, abs=1e-5), name
    plain = ppo.Learner(agent, args, torch.device("cpu"))
    noise = normal(64, 5).numpy()
    np.testing.assert_array_equal(learner.act(rows, noise), plain.act(rows, noise))
    assert mask[torch.arange(64), torch.from_numpy(plain.act(rows, 100 * noise))].all()


@pytest.mark.parametrize(
    ("shape", "pictures"),
    [
        ((7, 7, 3), (3, 7, 7)),
        ((4, 84, 84), (4, 84, 84)),
        ((10, 10), (1, 10, 10)),
        ((24, 2), (2, 24)),
        ((3, 4, 2), (2, 3, 4)),
        ((1, 9, 1), (1, 1, 9)),
    ],
    ids=str,
)
def test_pictures_are_turned_so_that_their_channels_come_first(shape: Any, pictures: Any) -> None:
    box = Box(0, 255, shape, np.uint8)
    layers: Any = part_networks.convolutions(box)
    picture = np.random.default_rng(1).integers(0, 256, (5, *shape))
    seen = layers[0](torch.tensor(picture.reshape(5, -1), dtype=torch.float32))
    assert seen.shape[1:] == pictures
    turned = picture if shape == pictures else np.moveaxis(picture.reshape(5, *pictures[1:], pictures[0]), -1, 1)
    np.testing.assert_allclose(seen, turned / 255, rtol=1e-6)
    assert layers(torch.zeros(2, int(np.prod(shape)))).shape[0] == 2


def test_a_vector_goes_through_as_it_is() -> None:
    rows = normal(3, 4)
    torch.testing.assert_close(part_networks.convolutions(Box(-1, 1, (4,)))(rows), rows)


@pytest.mark.parametrize("space", SPACES)
def test_a_stopped_run_goes_on_bit_for_bit_and_its_policy_is_evaluated(
    space: str, run_dir: RunDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_allowed(monkeypatch)
    straight = new_run(tmp_path)
    train(straight, *flags_of(space))
    with monkeypatch.context() as patch:
        signal_after_a_checkpoint(patch, signal.SIGTERM)
        train(run_dir, *flags_of(space))
    resume(run_dir)
    attempts = [event.body for event in events_of(run_dir) if isinstance(event.body, RunStarted)]
    assert [each.resumed_from_step for each in attempts] == [None, 256]
    assert all(each.exact for each in attempts)
    assert curve_of(run_dir) == curve_of(straight)
    assert final_files(run_dir) == final_files(straight)
    assert not [event.body for event in events_of(run_dir) if isinstance(event.body, Warned)]
    file = policy.read(policy_of(run_dir))
    seen = "parts" if "--network=parts" in SPACES[space] else "vector"
    if isinstance(file.observation_space, PartedRows):
        assert how_seen(file.observation_space)[0] in (seen, "vector")
    assert len(evaluated_returns(new_run(tmp_path), policy_of(run_dir), "--episodes=4")) == 4
    assert len(evaluated_returns(new_run(tmp_path), policy_of(run_dir), "--episodes=4", "--deterministic")) == 4


def only_allowed(patch: pytest.MonkeyPatch) -> None:
    """An action that a mask forbids ends the test."""

    def strict(right: Callable[..., float], is_allowed: Callable[[Any, Any], bool]) -> Callable[..., float]:
        def answer(task: Any, action: Any) -> float:
            assert is_allowed(task, action), f"{action} is not allowed"
            return right(task, action)

        return answer

    doors, dials = choice_tasks.Doors, choice_tasks.Dials
    patch.setattr(doors, "_answer", strict(doors._answer, lambda task, action: bool(task.open[action])))
    patch.setattr(
        dials, "_answer", strict(dials._answer, lambda task, action: task.free[action[0]] and task.free[3 + action[1]])
    )


@pytest.mark.parametrize(
    ("env_id", "network", "above"), [("Doors", "flat", 7), ("Dials", "flat", 5.8), ("Beam", "parts", 6)]
)
def test_it_learns_and_does_not_with_a_wrong_sign(
    env_id: str, network: str, above: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ("--algo=ppo", f"--env-id=mosaic/{env_id}-v0", f"--network={network}", "--no-cuda", "--no-tensorboard")
    more = ("--total-timesteps=4096", "--num-envs=8", "--num-steps=32", "--learning-rate=5e-3", "--no-anneal-lr")
    returns: list[float] = []
    for wrong in (False, True):
        with monkeypatch.context() as patch:
            if wrong:
                ascend_the_policy_gradient(patch)
            run_dir = new_run(tmp_path)
            train(run_dir, *flags, *more)
        scores = evaluated_returns(new_run(tmp_path), policy_of(run_dir), "--episodes=20", "--deterministic")
        returns.append(float(np.mean(scores)))
    assert returns[0] > above > returns[1], returns


def warnings_of(run_dir: RunDir) -> list[str]:
    return [event.body.message for event in events_of(run_dir) if isinstance(event.body, Warned)]


def test_who_does_not_read_masks_is_told_so(run_dir: RunDir, tmp_path: Path) -> None:
    train(run_dir, "--algo=dqn", "--env-id=mosaic/Doors-v0", "--total-timesteps=20", "--learning-starts=5")
    assert [each for each in warnings_of(run_dir) if "tells which actions are allowed, and dqn does not read" in each]
    unmasked = new_run(tmp_path)
    train(unmasked, "--algo=ppo", "--env-id=mosaic/Doors-v0", "--no-action-masks", *BRIEF)
    assert warnings_of(unmasked) == []
    assert type(policy.read(policy_of(unmasked)).observation_space) is Box


def test_masks_beside_a_one_hot_observation_are_trained_by_the_fast_path(run_dir: RunDir) -> None:
    train(run_dir, "--algo=ppo", "--env-id=Taxi-v4", *BRIEF)
    assert warnings_of(run_dir) == []


def test_a_policy_with_masks_is_refused_where_there_are_none(
    run_dir: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from cleanrl_worker import evaluate

    train(run_dir, *flags_of("masks"))
    words = ["--policy-path", str(policy_of(run_dir)), "--run-dir", str(new_run(tmp_path).root), "--quiet"]
    assert evaluate.main([*words, "--env-id=CartPole-v1"]) == 2
    assert "evaluate it in mosaic/Doors-v0" in capsys.readouterr().err


def test_spaces_that_do_not_fit_name_the_algorithms_that_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--algo=dqn", "--env-id=mosaic/Switches-v0"]) == 2
    assert "dqn needs discrete actions, mosaic/Switches-v0 has MultiBinary(4): use ppo" in capsys.readouterr().err
    assert cli.main(["--algo=ppo", "--env-id=Pendulum-v1"]) == 2
    assert "ppo needs discrete or multi_discrete actions" in capsys.readouterr().err
