"""A real application on Qt's offscreen platform, a real daemon with a really trained run, and runs written by hand.

`daemon_home`, `client` and `trained` are one daemon for the whole session, with a warm worker: `show()` opens a window
on it. A test that kills daemons, or writes runs by hand, takes a `home` of its own: `show(home)` starts a daemon there.
"""

import os

os.environ |= {"QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": "1", "QT_FONT_DPI": "96"}

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QPoint, QTimer
from PySide6.QtGui import QCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from mosaic.gui import app
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.tabs.artifacts import ArtifactsTab
from mosaic.rpc import locate
from mosaic.rpc.client import Client
from mosaic.rpc.locate import running_address
from mosaic.scripts.allowed_folders import Allowed
from mosaic.spec.run_config import (
    Artifacts,
    Environment,
    Metadata,
    TrainExtras,
    TrainRunConfig,
    Worker,
    WorkerConfig,
)
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL

from .event_loop import BEAT_MS
from .gui_thread import Waiting, noting_waits
from .hand_written import STARTED, HandWritten, learning
from .real_daemon import Daemon, end_daemon

__all__ = ["STARTED", "Daemon", "HandWritten", "MakeRun", "Show", "Shown", "artifacts_of", "learning"]

TIMEOUT_S = 120.0
"""Until a test gives up waiting for something that never comes; a slow and busy machine has the time that it needs."""


@pytest.fixture(scope="session")
def application() -> QApplication:
    return app.make_application()


@pytest.fixture(autouse=True, scope="module")
def no_garbage_for_threads() -> Iterator[None]:
    """What one test leaves to be collected may be widgets; threads of the next must not be the ones to do it."""
    gc.disable()
    yield
    gc.unfreeze()
    gc.collect()
    gc.enable()


@pytest.fixture(autouse=True)
def pointer_outside(application: QApplication) -> None:
    """A list keeps its order under the pointer, which may lie where an earlier test has left it."""
    QCursor.setPos(QPoint(-50, -50))


@pytest.fixture(autouse=True)
def no_leaked_threads() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    end = time.monotonic() + 300
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


@pytest.fixture(autouse=True)
def no_warm_worker_in_daemons_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window that misses its daemon starts one: here without a warm worker, as `start_daemon` does."""
    start = locate._start  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(locate, "_start", lambda home, flags, stderr: start(home, ("--no-warm", *flags), stderr))


@pytest.fixture(scope="session")
def daemon_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Home of the session's daemon; no test may end it."""
    daemon = Daemon(Home(tmp_path_factory.mktemp("session")), "--cpus", "4")
    try:
        yield daemon.start().home
    finally:
        daemon.close()


@pytest.fixture
def own_actors(daemon_home: Home, tmp_path: Path) -> Iterator[None]:
    """Files that a test writes may act in sessions of the session's daemon."""
    Allowed(daemon_home).add(tmp_path)
    yield
    Allowed(daemon_home).remove(tmp_path)


@pytest.fixture(scope="session")
def client(daemon_home: Home) -> Iterator[Client]:
    """A connection to the session's daemon."""
    with Client(home=daemon_home, start=False) as made:
        yield made


@pytest.fixture(scope="session")
def trained(client: Client) -> RunRecord:
    """A short real training, finished."""
    run = client.train("ppo", env_id="CartPole-v1", total_timesteps=5_120)[0]
    ended = client.wait(run.run_id)[0]
    assert ended.state == "finished", ended
    return ended


@pytest.fixture(scope="session")
def filmed(client: Client) -> RunRecord:
    """A short run with videos and several checkpoints, finished."""
    extras = TrainExtras(capture_video=True, checkpoint_interval_steps=2048)
    worker = WorkerConfig(algo="ppo", env_id="CartPole-v1", total_timesteps=6_144, seed=1, extras=extras)
    document = TrainRunConfig(
        run_name="filmed",
        environment=Environment(env_id="CartPole-v1"),
        artifacts=Artifacts(),
        metadata=Metadata(worker=Worker(config=worker)),
    )
    ended = client.wait(client.submit(document)[0].run_id)[0]
    assert ended.state == "finished", ended
    return ended


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A home of its own, without a daemon; what is started in it ends with the test."""
    made = Home(tmp_path / "home")
    made.create()
    yield made
    end_daemon(made)


@pytest.fixture
def start_daemon() -> Iterator[Callable[..., Daemon]]:
    """`start_daemon(home, *flags)`: without a warm worker, which takes seconds to import."""
    started: list[Daemon] = []

    def start(home: Home, *flags: str) -> Daemon:
        started.append(Daemon(home, "--no-warm", *flags).start())
        return started[-1]

    yield start
    for daemon in started:
        daemon.close()


class MakeRun(Protocol):
    def __call__(self, *, env_id: str = "CartPole-v1", label: str = "") -> HandWritten: ...


@pytest.fixture
def make_run(home: Home) -> Iterator[MakeRun]:
    """Makes runs by hand in `home`: write to them, then `publish()` them."""
    made: list[HandWritten] = []

    def make(*, env_id: str = "CartPole-v1", label: str = "") -> HandWritten:
        made.append(HandWritten(home, env_id=env_id, label=label))
        return made[-1]

    yield make
    for run in made:
        run.die()


class Shown:
    """An open window and the event loop around it, in which nothing may wait."""

    def __init__(self, application: QApplication, opened: app.Opened, waiting: Waiting) -> None:
        self.application, self.opened = application, opened
        self.window, self.studio, self.theme = opened.window, opened.studio, opened.theme
        self._waiting = waiting
        self._beat = QTimer(interval=BEAT_MS)
        self._beat.start()

    def until(self, holds: Callable[[], object], what: str = "", timeout_s: float = TIMEOUT_S) -> None:
        end = time.monotonic() + timeout_s
        while not holds():
            assert time.monotonic() < end, f"waited {timeout_s:.0f} s for {what or holds}"
            with self.never_waiting():
                # Without a limit of time, with which Qt does not wait but spins; the beat ends the wait.
                self.application.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)

    @contextmanager
    def never_waiting(self) -> Iterator[None]:
        """What is done in here waits neither for the daemon nor for anything else."""
        with self._waiting.watching():
            yield
        assert not self._waiting.calls, "the GUI thread waited: " + "; ".join(self._waiting.calls)

    def close(self) -> None:
        self._beat.stop()
        self.opened.close()
        self.window.deleteLater()


def artifacts_of(shown: Shown, run: RunRecord) -> ArtifactsTab:
    """The Artifacts tab with the list of a run."""
    tab = shown.window.tabs["Artifacts"]
    assert isinstance(tab, ArtifactsTab)
    shown.until(lambda: shown.studio.runs.get(run.run_id) is not None, "the run")
    shown.window.runs.select([run.run_id])
    shown.until(lambda: shown.studio.current == run.run_id)
    shown.window.bench.bring_up("Artifacts")
    shown.until(lambda: tab.tree.items(), "the list")
    return tab


class Show(Protocol):
    def __call__(self, home: Home | None = None, *, link: DaemonLink | None = None) -> Shown: ...


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Waiting]:
    """What the GUI thread waits for."""
    with noting_waits(monkeypatch) as noted:
        yield noted


@pytest.fixture
def show(
    application: QApplication, daemon_home: Home, start_daemon: Callable[..., Daemon], waiting: Waiting
) -> Iterator[Show]:
    """`show()` opens a window on the session's daemon, `show(home)` on one of that home, `show(link=…)` on any."""
    shown: list[Shown] = []
    (daemon_home.root / "gui.ini").unlink(missing_ok=True)

    def open_and_start(home: Home | None = None, *, link: DaemonLink | None = None) -> Shown:
        home = home or (link.home if link else daemon_home)
        if link is None and running_address(home) is None:
            start_daemon(home)
        opened = app.open_window(application, home, link or DaemonLink(home))
        opened.window.show()
        opened.window.activateWindow()  # shortcuts belong to the active window
        assert QTest.qWaitForWindowActive(opened.window)
        opened.start()
        shown.append(Shown(application, opened, waiting))
        return shown[-1]

    yield open_and_start
    for each in shown:
        each.close()
    shown.clear()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def no_session_left(client: Client) -> Iterator[None]:
    """Play sessions of a test end with it, and leave the list."""
    yield
    for run in client.list():
        if run.kind == "play":
            if run.state not in TERMINAL:
                client.cancel(run.run_id)
                client.wait(run.run_id)
            client.delete(run.run_id)
