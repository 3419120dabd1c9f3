"""A run with a goal ends at the very episode that reaches it, says why, and goes on when it is resumed."""

from pathlib import Path
from statistics import fmean

import pytest
from worker_runs import events_of, new_run, resume, train

from mosaic.spec.events import Episode, RunCompleted
from mosaic.spec.run_dir import RunDir

GOAL = 30.0
FLAGS = ("--algo=ppo", "--env-id=CartPole-v1", "--total-timesteps=20000", "--quiet", f"--stop-at-return={GOAL}")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    run_dir = new_run(tmp_path_factory.mktemp("goal"))
    train(run_dir, *FLAGS)
    return run_dir


def ending_of(run_dir: RunDir) -> RunCompleted:
    body = events_of(run_dir)[-1].body
    assert isinstance(body, RunCompleted)
    return body


def test_the_run_ends_when_the_mean_of_100_episodes_reaches_the_goal(stopped: RunDir) -> None:
    ending = ending_of(stopped)
    assert ending.stopped
    assert ending.reason == "reached a mean return of 30 over 100 episodes"
    assert ending.global_step < 20_000
    returns = [float(event.body.episodic_return) for event in events_of(stopped) if isinstance(event.body, Episode)]
    means = [fmean(returns[end - 100 : end]) for end in range(100, len(returns) + 1)]
    reached = next(index for index, mean in enumerate(means) if mean >= GOAL)
    # PPO ends at the end of its rollout: episodes of that rollout may follow, of the next one none.
    steps = [event.body.global_step for event in events_of(stopped) if isinstance(event.body, Episode)]
    assert 0 <= ending.global_step - steps[reached + 99] < 4 * 128


def test_the_same_seed_takes_the_same_steps_and_a_resumed_run_goes_on(stopped: RunDir, tmp_path: Path) -> None:
    again = new_run(tmp_path)
    train(again, *FLAGS)
    assert ending_of(again).global_step == ending_of(stopped).global_step
    resume(again)
    assert ending_of(again) == RunCompleted(global_step=19_968, stopped=False)
