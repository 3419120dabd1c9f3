"""`case` runs a test for every algorithm there is; `straight` is its run from beginning to end, made once."""

from collections.abc import Callable
from pathlib import Path

import pytest
from worker_cases import CASES, Case
from worker_runs import new_run, train

from cleanrl_worker.sdk import catalog
from mosaic.spec.run_dir import RunDir


@pytest.fixture(params=catalog.names())
def case(request: pytest.FixtureRequest) -> Case:
    assert request.param in CASES, f"give {request.param} a line in support/worker_cases.py"
    return CASES[request.param]


@pytest.fixture(scope="session")
def straight_runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case], RunDir]:
    made: dict[str, RunDir] = {}

    def run(case: Case) -> RunDir:
        if case.algo not in made:
            made[case.algo] = new_run(tmp_path_factory.mktemp(case.algo))
            train(made[case.algo], *case.flags)
        return made[case.algo]

    return run


@pytest.fixture
def straight(case: Case, straight_runs: Callable[[Case], RunDir]) -> RunDir:
    """Read it, do not change it."""
    return straight_runs(case)


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    """A directory for a run that does not exist yet."""
    return new_run(tmp_path)
