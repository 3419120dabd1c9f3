"""A real application on Qt's offscreen platform, a home with a really trained run, and runs written by hand."""

import os

os.environ |= {"QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": "1", "QT_FONT_DPI": "96"}

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop
from PySide6.QtWidgets import QApplication

from mosaic.gui import app
from mosaic.gui.models.link import Link
from mosaic.spec import manifest
from mosaic.spec.events import Episode, Event, EventBody, RunCompleted, RunStarted, Scalars, encode
from mosaic.spec.manifest import Manifest
from mosaic.spec.run_dir import Home, RunDir, new_run_id

TIMEOUT_S = 20.0
STARTED = RunStarted(algo="ppo", env_id="CartPole-v1", seed=1, total_timesteps=1000)


@pytest.fixture(scope="session")
def application() -> QApplication:
    return app.make_application()


@pytest.fixture(autouse=True)
def no_leaked_threads() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    end = time.monotonic() + 5
    while (left := set(threading.enumerate()) - before) and time.monotonic() < end:
        for thread in left:
            thread.join(0.1)
    assert not left, f"threads that outlived their test: {left}"


@pytest.fixture(autouse=True)
def errors_in_slots(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """PySide reports an exception in a slot to sys.excepthook and goes on: here it fails the test."""
    raised: list[BaseException] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: raised.append(error))
    yield
    if raised:
        raise raised[0]


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    """A short real training."""
    run_dir = Home(tmp_path_factory.mktemp("trained")).run(new_run_id())
    flags = ["--env-id", "CartPole-v1", "--total-timesteps", "20000", "--run-dir", str(run_dir.root), "--quiet"]
    command = [sys.executable, "-m", "cleanrl_worker.cli", "--algo", "ppo", *flags]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    return run_dir


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.create()
    return home


@pytest.fixture
def trained_home(home: Home, trained: RunDir) -> Home:
    """A home of one's own with the trained run in it."""
    shutil.copytree(trained.root, home.runs / trained.run_id)
    return home


class HandWritten:
    """A run directory that a test writes line by line."""

    def __init__(self, run_dir: RunDir) -> None:
        self.run_dir = run_dir
        self.seq = 0
        run_dir.create()
        found = Manifest(run_id=run_dir.run_id, algo="ppo", env_id="CartPole-v1", seed=1)
        manifest.write(run_dir, found)

    def write(self, *bodies: EventBody) -> None:
        with self.run_dir.events.open("a") as file:
            for body in bodies:
                self.seq += 1
                file.write(encode(Event(self.seq, 1.7e9 + self.seq, body)) + "\n")

    def write_raw(self, data: bytes) -> None:
        with self.run_dir.events.open("ab") as file:
            file.write(data)

    def write_finished(self, episodes: int = 3) -> None:
        self.write(STARTED, *learning(range(1, episodes + 1)), RunCompleted(global_step=1000))


def learning(steps: Sequence[int]) -> list[EventBody]:
    """An episode whose return is its step, and a loss, at each step."""
    bodies: list[EventBody] = []
    for step in steps:
        bodies.append(Episode(global_step=step, slot=0, episodic_return=float(step), episodic_length=step))
        bodies.append(Scalars(global_step=step, values={"losses/value_loss": 1.0 / step}))
    return bodies


@pytest.fixture
def make_run(home: Home) -> Callable[[], HandWritten]:
    return lambda: HandWritten(home.run(new_run_id()))


class Shown:
    """An open window and the event loop around it."""

    def __init__(self, application: QApplication, opened: app.Opened) -> None:
        self.application, self.opened = application, opened
        self.window, self.studio, self.theme = opened.window, opened.studio, opened.theme

    def until(self, holds: Callable[[], object], what: str = "") -> None:
        end = time.monotonic() + TIMEOUT_S
        while not holds():
            assert time.monotonic() < end, f"waited {TIMEOUT_S:.0f} s for {what or holds}"
            self.application.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents, 20)


@pytest.fixture
def show(application: QApplication) -> Iterator[Callable[[Home], Shown]]:
    shown: list[Shown] = []

    def open_and_start(home: Home) -> Shown:
        opened = app.open_window(application, home, Link(home))
        opened.window.show()
        opened.feed.start()
        shown.append(Shown(application, opened))
        return shown[-1]

    yield open_and_start
    for each in shown:
        each.opened.close()
        each.window.deleteLater()
    shown.clear()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
