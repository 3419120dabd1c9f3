"""An evaluation ends in an environment without a step limit, and says what it cut off."""

from pathlib import Path
from typing import Any

import pytest
from worker_runs import evaluated_returns, events_of, new_run, policy_of, train

from cleanrl_worker.sdk.evaluation import episode_bound
from mosaic.spec.events import Warned

CLIFF = "CliffWalking-v1"


@pytest.mark.parametrize(
    ("env_id", "settings", "is_needed"),
    [
        (CLIFF, {}, True),
        (CLIFF, {"is_slippery": True, "wrappers": [{"name": "FlattenObservation"}]}, True),
        (CLIFF, {"max_episode_steps": 50}, False),
        (CLIFF, {"wrappers": [{"name": "TimeLimit", "arguments": {"max_episode_steps": 50}}]}, False),
        ("CartPole-v1", {}, False),
        ("ALE/Pong-v5", {}, False),
    ],
)
def test_only_an_environment_without_a_limit_gets_one(env_id: str, settings: dict[str, Any], is_needed: bool) -> None:
    assert episode_bound.is_needed(env_id, settings) == is_needed


def test_an_episode_that_does_not_end_is_cut_off_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = new_run(tmp_path / "trained")
    quick = ("--num-envs=1", "--num-steps=8", "--total-timesteps=8", "--num-minibatches=1", "--no-fastlane-enabled")
    train(trained, "--algo=ppo", f"--env-id={CLIFF}", *quick)
    monkeypatch.setattr(episode_bound, "MOST_STEPS", 3)  # The goal is thirteen steps away.
    evaluated = new_run(tmp_path / "evaluated")
    returns = evaluated_returns(evaluated, policy_of(trained), "--episodes=4", "--no-fastlane-enabled")
    assert len(returns) == 4
    [warning] = [event.body.message for event in events_of(evaluated) if isinstance(event.body, Warned)]
    assert warning.startswith(
        f"4 of 4 episodes had not ended after 3 steps and were cut off: {CLIFF} has no step limit"
    )
    for own_limit in (2, 5):  # A longer one than ours counts, too.
        settings = (f"--env.max_episode_steps={own_limit}", "--no-fastlane-enabled")
        limited = new_run(tmp_path / f"limited-{own_limit}")
        assert len(evaluated_returns(limited, policy_of(trained), "--episodes=4", *settings)) == 4
        assert not [event for event in events_of(limited) if isinstance(event.body, Warned)]
