"""ppo_resident: its advantages against a plain loop, what it reports and refuses, and a loss that is not a number."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cleanrl_worker import cli
from cleanrl_worker.algorithms import ppo_resident
from cleanrl_worker.sdk.graph_memory import Memory
from cleanrl_worker.sdk.optimizer import adam
from mosaic.spec import ulid

SMALL = ("--algo=ppo_resident", "--num-envs=32", "--num-steps=16", "--quiet", "--no-fastlane-enabled")


def events_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def test_advantages_are_those_of_a_plain_loop() -> None:
    rng = np.random.default_rng(1)
    rewards, dones = rng.standard_normal((5, 3)), rng.integers(0, 2, (5, 3)).astype(float)
    values = rng.standard_normal((6, 3))
    paid, worth, ended = torch.as_tensor(rewards), torch.as_tensor(values), torch.as_tensor(dones)
    advantages, returns = ppo_resident.gae(paid, worth, ended, 0.9, 0.8)
    for env in range(3):
        last = 0.0
        for step in reversed(range(5)):
            goes_on = 1 - dones[step, env]
            delta = rewards[step, env] + 0.9 * values[step + 1, env] * goes_on - values[step, env]
            last = delta + 0.9 * 0.8 * goes_on * last
            assert advantages[step, env].item() == pytest.approx(last)
            assert returns[step, env].item() == pytest.approx(last + values[step, env])


def test_episodes_are_told_at_the_step_at_which_they_ended(tmp_path: Path) -> None:
    folder = tmp_path / ulid.new()
    assert cli.main([*SMALL, "--total-timesteps=4096", "--run-dir", str(folder)]) == 0
    told = [event for event in events_of(folder) if event["kind"] == "episode"]
    assert told
    for event in told:
        assert event["slot"] < 16
        # CartPole pays 1 a step; all 32 environments make a step at once.
        assert event["episodic_return"] == event["episodic_length"]
        assert event["global_step"] % 32 == 0
        assert event["episodic_length"] <= event["global_step"] // 32
    assert [event["global_step"] for event in told] == sorted(event["global_step"] for event in told)


def test_a_loss_that_is_not_a_number_fails_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ppo_resident, "normalised", lambda advantages: advantages * float("nan"))  # type: ignore[reportUnknownLambdaType]
    folder = tmp_path / ulid.new()
    assert cli.main([*SMALL, "--total-timesteps=4096", "--run-dir", str(folder)]) == 5
    assert events_of(folder)[-1]["error"] == "TrainingFailed"


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (
            ("--env-id=LunarLander-v3",),
            "ppo_resident learns only in Acrobot-v1, CartPole-v0,",
        ),
        (("--env-id=Taxi-v4", "--env.fickle_passenger"), "does not know the setting fickle_passenger"),
        (("--num-minibatches=5",), "which does not divide the 512 steps"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_it_starts(
    flags: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*SMALL, *flags, "--dry-run"]) != 0
    assert reason in capsys.readouterr().err


def test_moments_of_an_optimiser_are_compared_however_deep_it_lies() -> None:
    """A graph is compared with a plain call from the same state; what is not found is not put back."""

    class Holder:
        def __init__(self, part: Any) -> None:
            self.part = part

        def step(self) -> None: ...

    network = torch.nn.Linear(2, 2)
    optimizer = adam(network, learning_rate=1e-3)
    network(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    memory = Memory(Holder(Holder(torch.optim.Adam(network.parameters()))).step, without=())
    assert len(memory.copy()) == 0
    real = torch.optim.Adam(network.parameters())
    real.step()
    assert len(Memory(Holder(Holder(real)).step, without=()).copy()) == 6
