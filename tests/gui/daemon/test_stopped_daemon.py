"""A window does not start a daemon that was told to stop, nor begin a home anew that is gone; it says so."""

from collections.abc import Callable

from mosaic.errors import HomeVanished, MosaicError
from mosaic.gui.widgets.daemon.status_line import StatusLine
from mosaic.rpc.client import Client
from mosaic.rpc.locate import DaemonStopped, running_address
from mosaic.rpc.trainer_pb2 import Health
from mosaic.spec.run_dir import Home

from ..conftest import Daemon, Show, Shown


def line_of(shown: Shown) -> StatusLine:
    found = shown.window.findChild(StatusLine)
    assert found is not None
    return found


def failure_of(shown: Shown) -> MosaicError:
    """How a call of the window fails, such as its tabs make by themselves."""
    answers: list[Health] = []
    failures: list[MosaicError] = []
    shown.studio.link.call(Client.health, answers.append, failures.append)
    shown.until(lambda: answers or failures, "an answer")
    return failures[0]


def test_a_daemon_that_was_told_to_stop_stays_stopped_until_a_click(
    show: Show, home: Home, start_daemon: Callable[..., Daemon]
) -> None:
    start_daemon(home)
    shown = show(home)
    line = line_of(shown)
    shown.until(lambda: "connected" in line.daemon.text())
    with Client(home=home, start=False) as user:
        user.shutdown()
    shown.until(lambda: "The daemon was stopped. Start it:" in line.daemon.text())
    assert isinstance(failure_of(shown), DaemonStopped)
    assert running_address(home) is None
    assert "--no-start" in shown.studio.link.reach
    line.daemon.linkActivated.emit("start")
    assert "starting" in line.daemon.text()
    shown.until(lambda: "connected" in line.daemon.text(), timeout_s=40)


def test_a_home_that_is_gone_is_said_and_not_begun_anew(
    show: Show, home: Home, start_daemon: Callable[..., Daemon]
) -> None:
    daemon = start_daemon(home)
    shown = show(home)
    line = line_of(shown)
    shown.until(lambda: "connected" in line.daemon.text())
    moved = home.root.rename(home.root.with_name("moved"))
    shown.until(lambda: "the home folder is gone" in line.daemon.text())
    assert isinstance(failure_of(shown), HomeVanished)
    line.start_daemon()
    shown.until(lambda: "gone" in line.notice.text(), "the refusal")
    assert daemon.process is not None
    daemon.process.wait(120)
    shown.window.close()
    assert not home.root.exists()
    moved.rename(home.root)


def test_the_list_of_runs_says_how_far_the_index_is(show: Show) -> None:
    shown = show()
    shown.until(lambda: shown.studio.link.state == "connected")
    said = shown.window.runs.indexing
    assert said.isHidden()
    shown.studio.link.health = Health(indexed=3200, index_total=10_000)
    shown.studio.link.health_changed.emit()
    assert said.text() == "indexing: 3,200 of 10,000 runs"
    assert not said.isHidden()
