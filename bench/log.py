"""`python -m bench.log`: a log of 500 MB in the window: time to its end, to its start and to a line in it, and memory.

A finished run is written by hand with a log of `--megabytes`; a window opens on it as `mosaic gui` does, on Qt's
offscreen platform, and a daemon of the home answers it. The memory of a window without a run is measured first.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ |= {"QT_QPA_PLATFORM": "offscreen"}

import psutil
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from bench.daemon import daemon
from mosaic.gui import app
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.runs.log_model import LogModel
from mosaic.gui.tabs.log import LogTab
from mosaic.spec import manifest
from mosaic.spec.events import Event, RunCompleted, RunStarted, encode
from mosaic.spec.logs.log_times import RECORD
from mosaic.spec.manifest import Manifest
from mosaic.spec.run_dir import Home, RunDir, new_run_id

MB = 10**6
NEEDLE = "episodic_return=needle"
TIMEOUT_S = 120.0


def write_run(home: Home, size: int) -> tuple[RunDir, int]:
    """A finished run whose stdout has so many bytes; and how many lines that is."""
    run_dir = home.run(new_run_id())
    run_dir.create()
    manifest.write(run_dir, Manifest(run_id=run_dir.run_id, algo="ppo", env_id="CartPole-v1", seed=1, label="long"))
    started = RunStarted(algo="ppo", env_id="CartPole-v1", seed=1, total_timesteps=1000)
    now = time.time()
    events = [Event(1, now - 90_000, started), Event(2, now, RunCompleted(global_step=1000))]
    run_dir.events.write_text("".join(encode(event) + "\n" for event in events))
    lines = written = 0
    with run_dir.stdout.open("wb") as out, run_dir.stdout_times.open("wb") as times:
        times.write(RECORD.pack(0.0, 0))
        while written < size:
            block = b"".join(
                b"global_step=%d, episodic_return=%d.0 %s\n" % (step, step % 500, b"." * 120)
                for step in range(lines, lines + 10_000)
            )
            if written < size // 3 <= written + len(block):
                block += NEEDLE.encode() + b"\n"
            out.write(block)
            lines, written = lines + block.count(b"\n"), written + len(block)
            times.write(RECORD.pack(now - 90_000 + 86_400 * written / size, written))
    return run_dir, lines


class Watch:
    """A window, its memory and that of its daemon, and how long something takes."""

    def __init__(self, application: QApplication, daemon_pid: int) -> None:
        self._application = application
        self._processes = {"window": psutil.Process(), "daemon": psutil.Process(daemon_pid)}

    def memory(self) -> dict[str, float]:
        return {name: process.memory_info().rss / MB for name, process in self._processes.items()}

    def until(self, holds: Callable[[], object]) -> float:
        begin = time.perf_counter()
        while not holds():
            self._application.processEvents()
            time.sleep(0.001)
            if time.perf_counter() - begin > TIMEOUT_S:
                raise SystemExit(f"not within {TIMEOUT_S:.0f} s")
        return time.perf_counter() - begin


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m bench.log", description=__doc__)
    words.add_argument("--megabytes", type=int, default=504)
    size = words.parse_args().megabytes * MB
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        home.create()
        run_dir, lines = write_run(home, size)
        print(f"a log of {run_dir.stdout.stat().st_size / MB:.0f} MB, {lines:,} lines")
        with daemon(home, "--no-warm") as (_, pid):
            application = app.make_application()
            opened = app.open_window(application, home, DaemonLink(home))
            opened.window.resize(1600, 960)
            opened.window.show()
            opened.start()
            try:
                measure(opened, Watch(application, pid), run_dir.run_id, lines)
            finally:
                opened.close()


def measure(opened: app.Opened, watch: Watch, run_id: str, lines: int) -> None:
    studio, window = opened.studio, opened.window
    tab = window.tabs["Log"]
    assert isinstance(tab, LogTab)
    log = studio.log
    watch.until(lambda: studio.runs.get(run_id) is not None)
    before = watch.memory()
    print(", ".join(f"{name} {megabytes:.0f} MB" for name, megabytes in before.items()), "before it is opened")

    def say(what: str, seconds: float) -> None:
        grown = ", ".join(f"{name} +{now - before[name]:.0f} MB" for name, now in watch.memory().items())
        print(f"{what:34} {seconds * 1e3:8.0f} ms   {grown}   {log.rowCount():,} lines held")

    window.bench.bring_up("Log")
    studio.select([run_id])
    say("its end is shown", watch.until(lambda: log.rowCount() and log.is_end))
    say("all lines are counted", watch.until(lambda: log.count is not None and log.count.whole))
    assert log.count is not None
    assert log.count.lines == lines + 2, log.count
    QTest.keyClick(tab.view, Qt.Key.Key_Home)
    say("its start is shown", watch.until(lambda: log.is_start and not log.is_looking))
    tab.search.setText(NEEDLE)
    QTest.keyClick(tab.search, Qt.Key.Key_Return)
    found = [NEEDLE]
    say("the only line with a text, a third in", watch.until(lambda: selected(log, tab) == found))
    say("that it is the only one", watch.until(lambda: log.count is not None and log.count.whole))
    assert log.count is not None
    print(f"{tab.count.text()}")
    tab.search.setText("")
    begin = time.perf_counter()
    for _ in range(500):
        QTest.keyClick(tab.view, Qt.Key.Key_PageUp)
        watch.until(lambda: not log.is_looking)
    say("500 pages up", time.perf_counter() - begin)


def selected(log: LogModel, tab: LogTab) -> list[str]:
    return [log.line(row).text for row in tab.view.selected]


if __name__ == "__main__":
    main()
