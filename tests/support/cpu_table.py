"""`pytest --cpu-table`: processor seconds of each test, shared fixture and file, of all processes below them too.

Counted are the process of the tests, what it has reaped, and everything below it that lives: daemons, warm workers,
trainings. Orphans that a killed daemon leaves behind become children of the process of the tests
(PR_SET_CHILD_SUBREAPER), which reaps them. What a shared fixture costs is not counted for the test that came first.
With `-n` each process sends its rows to the first one, which prints them.
"""

import contextlib
import ctypes
import os
from collections import Counter
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

PR_SET_CHILD_SUBREAPER = 36
SHOWN = 40
TICKS = os.sysconf("SC_CLK_TCK")


class CpuTable:
    """What each test and each fixture that is not of one test alone used, and the sums of their files."""

    def __init__(self) -> None:
        self._rows: Counter[str] = Counter()
        self._inner: list[float] = []
        """What was counted for fixtures inside of each thing that is being counted."""
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        with self._counted(item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        with self._counted(f"{fixturedef.baseid or 'plugin'}::fixture {fixturedef.argname}"):
            return (yield)

    @contextlib.contextmanager
    def _counted(self, name: str) -> Iterator[None]:
        before = _used_s()
        self._inner.append(0.0)
        try:
            yield
        finally:
            _reap()
            used = _used_s() - before
            self._rows[name] += used - self._inner.pop()
            if self._inner:
                self._inner[-1] += used

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["cpu_table"] = dict(self._rows)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """A process of xdist has ended."""
        self._rows.update(getattr(node, "workeroutput", {}).get("cpu_table", {}))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        files: Counter[str] = Counter()
        for name, used in self._rows.items():
            files[name.partition("::")[0]] += used
        for title, rows in (("", self._rows), (" by file", files)):
            terminalreporter.section(f"processor seconds{title}")
            for name, used in rows.most_common(SHOWN):
                terminalreporter.write_line(f"{used:8.2f}  {name}")
        terminalreporter.write_line(f"{sum(self._rows.values()):8.2f}  in all")


def _used_s() -> float:
    """Of this process and of all below it."""
    used = {pid: (parent, ticks) for pid, parent, ticks in _processes()}
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in used.items():
        children.setdefault(parent, []).append(pid)
    found, total = [os.getpid()], 0
    while found:
        pid = found.pop()
        total += used.get(pid, (0, 0))[1]
        found += children.get(pid, ())
    return total / TICKS


def _processes() -> Iterator[tuple[int, int, int]]:
    """Id, parent and ticks of every process: its own, and those of the children that it has reaped."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = path.read_text().rpartition(")")[2].split()
            yield int(path.parent.name), int(words[1]), sum(map(int, words[11:15]))


def _reap() -> None:
    """Orphans that have ended; a child that this process started is left to its Popen, unless that was dropped."""
    for pid, parent, _ in _processes():
        if parent == os.getpid():
            with contextlib.suppress(ChildProcessError):
                status = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if status is not None and not _is_expected(pid):
                    os.waitpid(pid, os.WNOHANG)


@cache
def _is_expected(pid: int) -> bool:
    """Whether a Popen of this process waits for it. Asked once for each: looking through all objects takes long."""
    import gc
    import subprocess

    return any(issubclass(type(one), subprocess.Popen) and one.pid == pid for one in gc.get_objects())
