"""Scripts in every usual manner run unmodified; what they do becomes a run like any other."""

from collections.abc import Callable
from typing import Any

import pytest

from mosaic.spec.run_record import RunRecord

LOSSES = {"charts/SPS", "losses/q_values"}
PPO = {"charts/SPS", "charts/learning_rate", "losses/value_loss", "losses/policy_loss"}
ACTOR = {"charts/SPS", "losses/actor_loss", "losses/qf1_loss", "losses/qf1_values"}
SB3 = {"rollout/ep_rew_mean", "time/fps", "train/loss", "train/approx_kl"}
MANNERS: dict[str, tuple[tuple[str, ...], set[str], int, int]] = {
    "ppo": (("--save-model", "--capture-video"), PPO, 2048, 40),
    "ppo_continuous_action": (("--save-model",), PPO, 2048, 8),
    "rpo_continuous_action": ((), PPO, 2048, 8),
    "dqn": (("--save-model",), LOSSES | {"losses/td_loss"}, 391, 20),
    "c51": (("--save-model",), LOSSES | {"losses/loss"}, 380, 20),
    "ddpg_continuous_action": (("--save-model",), ACTOR, 400, 2),
    "td3_continuous_action": (("--save-model",), ACTOR, 400, 2),
    "sac_continuous_action": ((), {"charts/SPS", "losses/alpha", "losses/actor_loss"}, 400, 4),
    "pqn": ((), LOSSES | {"losses/td_loss"}, 2048, 100),
    "ppo_atari": ((), PPO, 64, 0),
    "ppo_atari_lstm": ((), PPO, 64, 0),
    "dqn_atari": ((), LOSSES | {"losses/td_loss"}, 100, 0),
    "c51_atari": ((), LOSSES | {"losses/loss"}, 100, 0),
    "rainbow_atari": ((), LOSSES | {"losses/td_loss", "charts/beta"}, 100, 0),
    "ppo_atari_envpool": ((), {"charts/SPS", "charts/avg_episodic_return"}, 128, 2),
    "plain": ((), {"losses/policy_loss"}, 1500, 40),
    "sb3": ((), SB3, 512, 0),
}
"""Flags, tags among others, the least of the steps and of the episodes."""


@pytest.fixture(scope="module")
def runs(studio: Any) -> dict[str, RunRecord]:
    """All of them at once: two run side by side while the tests look at those that have ended."""
    return {name: studio.submit(f"manners/{name}.py", *words) for name, (words, *_) in MANNERS.items()}


@pytest.mark.parametrize("name", MANNERS)
def test_runs_in_the_manner_of(studio: Any, runs: dict[str, RunRecord], name: str) -> None:
    words, tags, steps, episodes = MANNERS[name]
    run = studio.ended(runs[name], 110)
    assert run.state == "finished", (run.reason, run.stderr_tail)
    events = studio.events(run)
    logged = {tag for event in events if event["kind"] == "scalars" for tag in event["values"]}
    assert logged >= tags
    assert run.global_step >= steps
    counted = [event for event in events if event["kind"] == "episode"]
    assert len(counted) >= episodes
    assert all(event["episodic_length"] > 0 for event in counted)
    assert studio.artifacts(run, "tensorboard")
    assert studio.artifacts(run, "script") == [f"script/{name}.py"]
    assert bool(studio.artifacts(run, "policy")) == ("--save-model" in words or name in ("plain", "sb3"))
    assert bool(studio.artifacts(run, "video")) == ("--capture-video" in words)
    if episodes or name == "sb3":
        assert run.last_return is not None


def test_every_idiom_of_gymnasium_0_29_is_translated(studio: Any) -> None:
    run = studio.ended(studio.submit("more/idioms.py"))
    assert run.state == "finished", (run.reason, run.stderr_tail)


def test_the_evaluation_of_a_checkout_runs_and_films_nothing_unasked(studio: Any) -> None:
    run = studio.ended(studio.submit("checkout/cleanrl/dqn.py", "--save-model"))
    assert run.state == "finished", (run.reason, run.stderr_tail)
    returns = [e for e in studio.events(run) if e["kind"] == "scalars" and "eval/episodic_return" in e["values"]]
    assert [event["global_step"] for event in returns] == [0, 1]
    assert studio.artifacts(run, "video") == []
    assert run.global_step > 300


def test_seeds_make_a_group_and_reach_the_script(studio: Any, eventually: Callable[..., Any]) -> None:
    document = studio.document("manners/ppo.py", "--total-timesteps", "256", "--num-envs", "2")
    group = studio.client.submit(document, seeds=[1, 2])
    curves = []
    for run in map(studio.ended, group):
        assert run.state == "finished", run.reason
        curves.append([(e["global_step"], e["episodic_return"]) for e in studio.events(run) if e["kind"] == "episode"])
    assert curves[0] != curves[1]
