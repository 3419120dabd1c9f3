"""A thread count changes the bits of a run: it is kept with its checkpoints, and a resume with another one says so."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from worker_cases import CASES, Case
from worker_runs import copy_of

from cleanrl_worker import cli
from cleanrl_worker.sdk.checkpoints import checkpoint
from mosaic.spec.run_dir import RunDir


@pytest.mark.parametrize(("threads", "warned"), [(1, False), (3, True)])
def test_a_resume_with_another_thread_count_is_warned_of(
    straight_runs: Callable[[Case], RunDir],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    threads: int,
    warned: bool,
) -> None:
    run_dir = copy_of(straight_runs(CASES["ppo"]), tmp_path)
    folder = checkpoint.latest(run_dir)
    assert folder is not None
    assert checkpoint.read_header(folder).threads == 1
    assert json.loads(run_dir.config.read_text())["resources"]["cpus"] == 1
    words = ["--resume", str(run_dir.root), "--cpus", str(threads), "--dry-run", "--emit-summary"]
    assert cli.main(words) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1]).get("remarks", [])
    assert [f"this attempt has {threads}" in one for one in said] == [True] * warned
