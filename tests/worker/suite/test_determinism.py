"""Same seed, same curve and same bits at the end; another seed, another curve; backend and viewer change nothing."""

import math
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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

from cleanrl_worker.sdk import Run
from mosaic.fastlane.viewer import Viewer
from mosaic.spec.events import LiveViewOpened
from mosaic.spec.run_dir import RunDir

TELLS_NOTHING = ("bc", "bdi_q", "ppo_lstm")
"""One has no values, one no networks, and what the last makes of an observation depends on those before it."""


def test_the_same_seed_gives_the_same_bits_with_a_live_view_or_without_and_also_when_it_is_explained(
    case: Case, straight: RunDir, run_dir: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Mapping[str, Any]] = []

    count = Run.histograms

    def tell(run: Run, networks: Any) -> None:
        """At each update, as the live view asks while a viewer wants to know."""
        count(run, networks)
        assert run.envs is not None
        told.append(run.explained(run.envs.current_obs[:1]))

    monkeypatch.setattr(Run, "histograms", tell)
    train(run_dir, *case.flags, "--no-fastlane-enabled")
    assert curve_of(run_dir) == curve_of(straight)
    assert final_files(run_dir) == final_files(straight)
    if case.algo in TELLS_NOTHING:
        assert not any(told)
        return
    assert told
    assert all(math.isfinite(each["value"]) for each in told)
    for each in told:
        assert sum(each.get("probabilities", [1.0])) == pytest.approx(1.0)
        assert max(each.get("values", [each["value"]])) == each["value"]


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
