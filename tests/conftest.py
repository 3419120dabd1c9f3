"""What all tests share: helpers in `support`, and Ctrl-C in what they start.

Also where the suite itself was started in the background and ignores it.
"""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# pytest imports test files without putting their folders on the path (--import-mode=importlib).
sys.path.append(str(Path(__file__).parent / "support"))

from cpu_table import CpuTable
from processes import end_all_of

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says more about the machine than about the code.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-table", action="store_true", help="processor seconds of each test file (without -n)")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--cpu-table"):
        config.pluginmanager.register(CpuTable())


LONGEST_FIRST = ("worker", "trainer", "track", "foreign", "gui", "play", "cli", "fastlane")
"""Folders whose files take longest: begun last, one of them would keep a process busy when the others are done."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent

    def place(item: pytest.Item) -> int:
        folder = item.path.relative_to(here).parts[0]
        return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)

    items.sort(key=place)


@pytest.fixture(scope="session", autouse=True)
def _ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Whatever a test left behind ends with the tests, rather than take their time from those who follow."""
    yield
    end_all_of(tmp_path_factory.getbasetemp())
