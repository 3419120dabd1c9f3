"""Same seed, same curve and same bits at the end; another seed, another curve; backend and viewer change nothing."""

import signal
from pathlib import Path

import pytest
from worker_cases import Case
from worker_runs import (
    curve_of,
    events_of,
    final_files,
    new_run,
    signal_after_a_checkpoint,
    started,
    train,
    wait_until,
)

from mosaic.fastlane.viewer import Viewer
from mosaic.spec.events import LiveViewOpened
from mosaic.spec.run_dir import RunDir


def test_the_same_seed_gives_the_same_bits_with_a_live_view_or_without(
    case: Case, straight: RunDir, run_dir: RunDir
) -> None:
    train(run_dir, *case.flags, "--no-fastlane-enabled")
    assert curve_of(run_dir) == curve_of(straight)
    assert final_files(run_dir) == final_files(straight)


def test_another_seed_gives_another_curve(
    case: Case, straight: RunDir, run_dir: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Already at the beginning: a part of the run is enough."""
    signal_after_a_checkpoint(monkeypatch, signal.SIGTERM)
    train(run_dir, *case.flags, "--seed=2", f"--checkpoint-interval-steps={case.total_timesteps // 4}")
    curve = curve_of(run_dir)
    assert curve
    assert curve != curve_of(straight)[: len(curve)]


def test_gymnasiums_wrapped_environments_give_the_curve_of_the_bare_ones(
    case: Case, straight: RunDir, run_dir: RunDir
) -> None:
    train(run_dir, *case.flags, "--env-backend=sync")
    assert curve_of(run_dir) == curve_of(straight)
    assert final_files(run_dir)["policy"] == final_files(straight)["policy"]


def test_a_viewer_changes_nothing(run_dir: RunDir, tmp_path: Path) -> None:
    # Each of its steps takes a while, so that the viewer comes before the end.
    flags = ("--algo=ppo", "--env-id=resting:Resting-v0", "--total-timesteps=1024", "--quiet")
    with started(*flags, "--run-dir", str(run_dir.root)) as process:
        assert wait_until(lambda: live_view_of(run_dir) is not None, process)
        with Viewer(Path(str(live_view_of(run_dir)))) as viewer:
            assert viewer.wait(300) is not None
            assert process.wait(300) == 0
    unseen = new_run(tmp_path)
    train(unseen, *flags)
    assert curve_of(run_dir) == curve_of(unseen)
    assert final_files(run_dir) == final_files(unseen)


def live_view_of(run_dir: RunDir) -> str | None:
    events = events_of(run_dir) if run_dir.events.exists() else []
    return next((event.body.path for event in events if isinstance(event.body, LiveViewOpened)), None)
