"""Every test of the worker gets a home of its own, and the helpers of `suite/support`."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kept_memory import KeptMemory

# pytest imports test files without putting their folders on the path (--import-mode=importlib).
SUPPORT = str(Path(__file__).parent / "suite" / "support")
sys.path.append(SUPPORT)
# The workers that tests start find the environments there too.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), SUPPORT)))


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`$MOSAIC_HOME` in the test's folder, and no variable of the developer's shell that changes where things go."""
    home = tmp_path / "home"
    monkeypatch.setenv("MOSAIC_HOME", str(home))
    monkeypatch.delenv("CLEANRL_TENSORBOARD_DIR", raising=False)
    return home


@pytest.fixture(scope="session")
def kept_memory() -> KeptMemory:
    return KeptMemory()


@pytest.fixture(autouse=True)
def memories_of_ended_trainings_go(kept_memory: KeptMemory) -> Iterator[None]:
    yield
    kept_memory.give_back()
