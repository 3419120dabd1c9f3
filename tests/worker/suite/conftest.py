"""`case` runs a test for every algorithm there is; `straight` is its run from beginning to end, made once."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock
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
    """Made once for all processes of the suite: whoever needs it first makes it, the others wait."""
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "straight"
    shared.mkdir(exist_ok=True)

    def run(case: Case) -> RunDir:
        name = shared / f"{case.algo}.txt"
        with FileLock(shared / f"{case.algo}.lock"):
            if not name.exists():
                made = new_run(shared)
                train(made, *case.flags)
                name.write_text(str(made.root))
        return RunDir(Path(name.read_text()))

    return run


@pytest.fixture
def straight(case: Case, straight_runs: Callable[[Case], RunDir]) -> RunDir:
    """Read it, do not change it."""
    return straight_runs(case)


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    """A directory for a run that does not exist yet."""
    return new_run(tmp_path)
