"""`pytest --cpu-table`: processor seconds of each test file, of the processes that it started too.

The kernel counts a process for its parent when it is reaped. Daemons that a test kills leave workers behind: they
become children of this process (PR_SET_CHILD_SUBREAPER), which reaps them after each test.
"""

import contextlib
import ctypes
import os
from collections.abc import Generator

import psutil
import pytest

PR_SET_CHILD_SUBREAPER = 36


class CpuTable:
    """Sums what this process and its reaped children used, file by file; without xdist."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._tests: list[tuple[float, str]] = []
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before = _used_s()
        try:
            return (yield)
        finally:
            _reap()
            used = _used_s() - before
            self._tests.append((used, item.nodeid))
            file = item.nodeid.partition("::")[0]
            self._seconds[file] = self._seconds.get(file, 0.0) + used

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("processor seconds")
        for used, name in sorted(self._tests, reverse=True)[:60]:
            terminalreporter.write_line(f"{used:8.2f}  {name}")
        terminalreporter.section("processor seconds by file")
        for file, used in sorted(self._seconds.items(), key=lambda each: -each[1]):
            terminalreporter.write_line(f"{used:8.2f}  {file}")
        terminalreporter.write_line(f"{sum(self._seconds.values()):8.2f}  in all")


def _used_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _reap() -> None:
    """Orphans that have ended; a child that somebody here started is left to its Popen, unless that was dropped."""
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess, ChildProcessError):
            if child.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(child.pid, os.WNOHANG)
