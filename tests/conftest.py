"""What all tests share: helpers in `support`, and Ctrl-C in what they start.

Also where the suite itself was started in the background and ignores it.
"""

import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from mosaic.spec.catalogue.shipped_catalogue import DESCRIBERS
from mosaic.trainer.catalogue.sources_digest import sources_digest

# pytest imports test files without putting their folders on the path (--import-mode=importlib).
sys.path.append(str(Path(__file__).parent / "support"))

from cpu_table import CpuTable
from planted import plant
from processes import end_all_of

# Also where the machine says otherwise, compiled modules are kept: hundreds of processes of ours, and pytest, would
# compile the same sources again and again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Runs of tests are not news for the desktop of the one who starts them.
os.environ["MOSAIC_DESKTOP_ALERTS"] = "0"
sys.dont_write_bytecode = False

# Daemons that tests start, and so their workers, find the environment `resting:Resting-v0` there.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, (os.environ.get("PYTHONPATH"), str(Path(__file__).parent / "support")))
)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says more about the machine than about the code.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-table", action="store_true", help="processor seconds of each test, fixture and file")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--cpu-table"):
        config.pluginmanager.register(CpuTable())


LONGEST_FIRST = ("trainer", "gui", "foreign", "cli", "play", "sweep", "track", "worker", "intake", "envs", "fastlane")
"""What takes longest is begun first: begun last, it would keep one process busy when the others are done."""
WITH_ROOMS = ("trainer", "gui")
"""Folders whose rooms are given out one by one; every other folder is given out file by file."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent

    def place(item: pytest.Item) -> int:
        folder = item.path.relative_to(here).parts[0]
        return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)

    items.sort(key=place)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """With `-n`: what shares daemons and trainings goes to one process."""
    config.option.loadscopereorder = False  # Their order is ours.
    return _Rooms(config, log)


class _Rooms(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        parts = Path(nodeid.partition("::")[0]).parts
        return "/".join(parts[:3] if len(parts) > 1 and parts[1] in WITH_ROOMS else parts)


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """`made_once(name, make)`: a path that `make` filled once for all processes of the suite; read it only."""
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "made-once"
    shared.mkdir(exist_ok=True)

    def ready(name: str, make: Callable[[Path], object]) -> Path:
        path, done = shared / name, shared / f"{name}.done"
        with FileLock(shared / f"{name}.lock"):
            if not done.exists():
                make(path)
                done.touch()
        return path

    return ready


@pytest.fixture(scope="session")
def catalogue_file(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """The daemon's catalogue: copied into a home, it spares the daemon to ask a worker for it."""

    def make(path: Path) -> None:
        content: dict[str, object] = {}
        for program in DESCRIBERS:
            command = [sys.executable, "-m", program]
            content |= json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        path.write_text(json.dumps({"digest": sources_digest(), "content": content}))

    return made_once("catalog.json", make)


@pytest.fixture(scope="session", autouse=True)
def _ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Whatever a test left behind ends with the tests, rather than take their time from those who follow."""
    yield
    end_all_of(tmp_path_factory.getbasetemp())
    # A Popen that was not polled since its process has ended warns of a process that still runs.
    for one in gc.get_objects():
        if issubclass(type(one), subprocess.Popen):
            one.poll()


@pytest.fixture
def planted(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Plants files that must not run into folders; the file that then must not come to be."""
    marker = tmp_path_factory.mktemp("marker") / "run"

    def put(*folders: Path) -> Path:
        for folder in folders:
            plant(folder, marker)
        return marker

    return put
