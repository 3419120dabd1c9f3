"""`case` runs a test for every algorithm there is; `straight` is its run from beginning to end, made once."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
import recorded_data
from default_case import case_of
from worker_cases import Case
from worker_runs import new_run, train

from cleanrl_worker.sdk.command import algorithm_catalogue
from mosaic.spec.run_dir import RunDir


@pytest.fixture(params=algorithm_catalogue.names())
def case(request: pytest.FixtureRequest) -> Case:
    found = case_of(request.param)
    if "dataset" not in {field.name for field in fields(algorithm_catalogue.load(found.algo).Args)}:
        return found
    return found.with_data(request.getfixturevalue("made_once")("minari-aim", recorded_data.record))


@pytest.fixture(scope="session")
def straight_runs(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Callable[[Case], RunDir]:
    """Made once for all processes of the suite: the test that needs it first makes it, the others wait."""

    def run(case: Case) -> RunDir:
        def make(folder: Path) -> None:
            train(new_run(folder), *case.flags)

        [made] = made_once(f"straight-{case.algo}", make).iterdir()
        return RunDir(made)

    return run


@pytest.fixture
def straight(case: Case, straight_runs: Callable[[Case], RunDir]) -> RunDir:
    """Read it, do not change it."""
    return straight_runs(case)


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    """A directory for a run that does not exist yet."""
    return new_run(tmp_path)
