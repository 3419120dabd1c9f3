"""Each algorithm learns something in seconds, and the test that says so goes red when a sign is wrong."""

from pathlib import Path

import pytest
from worker_cases import Case, Learning, flags_of
from worker_runs import evaluated_returns, new_run, policy_of, train


def lesson_of(case: Case) -> Learning:
    if case.learning is None:
        pytest.skip(f"nothing says how well {case.algo} should learn: give it a line in support/worker_cases.py")
    return case.learning


def score(case: Case, folder: Path) -> float:
    """Mean return of the policy after the short training."""
    lesson, run_dir = lesson_of(case), new_run(folder)
    flags = {"algo": case.algo, "env_id": lesson.env_id, "total_timesteps": lesson.total_timesteps, **lesson.settings}
    train(run_dir, *flags_of(flags), "--no-tensorboard")
    returns = evaluated_returns(new_run(folder), policy_of(run_dir), "--episodes=10", "--deterministic")
    return sum(returns) / len(returns)


def test_it_learns(case: Case, tmp_path: Path) -> None:
    assert score(case, tmp_path) > lesson_of(case).above


@pytest.mark.slow
def test_a_sign_error_would_be_seen(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lesson_of(case).sign_error(monkeypatch)
    assert score(case, tmp_path) < lesson_of(case).above / 2
