"""The status bar tells of the daemon and its machine."""

from collections.abc import Callable

from mosaic.gui.widgets.daemon.status_line import StatusLine
from mosaic.spec.run_dir import Home

from ..conftest import Daemon, Show, Shown


def status(shown: Shown) -> StatusLine:
    found = shown.window.statusBar()
    assert isinstance(found, StatusLine)
    return found


def test_daemon_and_machine_are_shown(show: Show, daemon_home: Home) -> None:
    shown = show()
    line = status(shown)
    shown.until(lambda: "connected" in line.daemon.text() and line.cpu.text())
    assert daemon_home.root.name in line.daemon.text()
    assert str(daemon_home.root) in line.daemon.toolTip()
    assert line.cpu.text().startswith("CPU ")
    assert " of " in line.memory.text()
    assert line.disk.text().endswith("free")
    health = shown.studio.link.health
    assert health is not None
    assert line.gpu.isVisible() == bool(health.gpu_loads)


def test_a_daemon_that_is_gone_is_started_by_a_click(
    show: Show, home: Home, start_daemon: Callable[..., Daemon]
) -> None:
    daemon = start_daemon(home)
    shown = show(home)
    line = status(shown)
    shown.until(lambda: "connected" in line.daemon.text())
    daemon.kill()
    shown.until(lambda: "daemon gone" in line.daemon.text())
    assert not line.cpu.isVisible()  # not known
    line.daemon.linkActivated.emit("start")
    assert "starting" in line.daemon.text()
    shown.until(lambda: "connected" in line.daemon.text() and line.cpu.isVisible(), timeout_s=300)
