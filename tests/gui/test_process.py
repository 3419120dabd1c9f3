"""The window as a process: what it loads and when, and what the command says without a display."""

import json
import os
import socket
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from PySide6.QtCore import qWarning

from mosaic import log
from mosaic.cli import main
from mosaic.cli.daemon.gui import NoDisplay, refuse_without_display
from mosaic.gui.models.window_log import LARGEST_BYTES, logged, path_of
from mosaic.installation import install_line
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord

from .conftest import TIMEOUT_S

LATER = {"pyqtgraph", "av", "PIL", "matplotlib", "scipy", "pandas", "wandb"}
"""Packages that take long to import and that a window needs, if at all, when it is there."""
PROBE = """
import json, sys
from PySide6.QtCore import QEventLoop
from mosaic.gui import app
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.spec.run_dir import Home
application = app.make_application()
opened = app.open_window(application, Home.resolve(), DaemonLink(Home.resolve()))
opened.window.show()
shown = sorted(sys.modules)
opened.start()
# The window's own timers end the wait.
while "pyqtgraph" not in sys.modules or not opened.studio.curves.tags():
    application.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
opened.close()
packages = [sorted({name.split(".")[0] for name in names}) for names in (shown, sys.modules)]
print(json.dumps({"shown": packages[0], "loaded": packages[1]}))
"""


def test_the_window_is_there_before_charts_are_loaded_and_loads_no_torch(daemon_home: Home, trained: RunRecord) -> None:
    result = subprocess.run(
        [sys.executable, "-c", PROBE],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"MOSAIC_HOME": str(daemon_home.root)},
    )
    told = json.loads(result.stdout.splitlines()[-1])
    assert not {"torch", "gymnasium", "cleanrl_worker", "tensorboard"} & set(told["loaded"])
    assert not LATER & set(told["shown"])


def test_without_a_display_the_command_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert main(["gui"]) == 3
    assert "ssh -X" in capsys.readouterr().err


def test_without_the_extra_the_command_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["gui"]) == 3
    assert f"needs the extra 'gui': {install_line('gui')}" in capsys.readouterr().err


@pytest.mark.parametrize(("platform", "expected"), [("linux", False), ("darwin", True), ("win32", True)])
def test_only_linux_needs_a_variable_to_have_a_display(platform: str, expected: bool) -> None:
    with nullcontext() if expected else pytest.raises(NoDisplay, match="neither DISPLAY nor WAYLAND_DISPLAY is set"):
        refuse_without_display(platform, {})


def test_a_display_that_is_dead_is_told_before_qt_ends_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":9731")
    assert main(["gui"]) == NoDisplay.exit_code == 3
    assert "nothing answers at DISPLAY=:9731" in capsys.readouterr().err
    wayland = {"WAYLAND_DISPLAY": "w", "XDG_RUNTIME_DIR": str(tmp_path), "QT_QPA_PLATFORM": "wayland"}
    with pytest.raises(NoDisplay):
        refuse_without_display("linux", wayland)
    with socket.socket(socket.AF_UNIX) as compositor:
        compositor.bind(str(tmp_path / "w"))
        compositor.listen()
        refuse_without_display("linux", wayland)
    refuse_without_display("linux", {"QT_QPA_PLATFORM": "offscreen"})


def test_the_fonts_and_icons_travel_with_their_licences() -> None:
    gui = Path(__file__).parents[2] / "src" / "mosaic" / "gui"
    assert "SIL OPEN FONT LICENSE" in (gui / "fonts" / "OFL.txt").read_text()
    assert "ISC License" in (gui / "icons" / "LICENSE").read_text()


def test_a_window_that_is_closed_at_once_ends_without_a_word(daemon_home: Home) -> None:
    script = """
from mosaic.gui import app
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.spec.run_dir import Home
application = app.make_application()
opened = app.open_window(application, Home.resolve(), DaemonLink(Home.resolve()))
opened.window.show()
opened.start()
application.processEvents()
opened.close()
"""
    environment = os.environ | {"MOSAIC_HOME": str(daemon_home.root)}
    result = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, env=environment)
    # Qt's own word about what its offscreen display cannot do is not ours.
    said = [line for line in result.stderr.splitlines() if "propagateSizeHints" not in line]
    assert (result.stdout, said) == ("", [])


def test_the_log_of_the_window_has_its_start_its_end_and_what_qt_says(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    path_of(home).parent.mkdir(parents=True)
    path_of(home).write_bytes(b"x" * (LARGEST_BYTES + 1))
    try:
        with logged(home):
            qWarning("a slot is missing")
    finally:
        log.configure()
    lines = [json.loads(line) for line in path_of(home).read_text().splitlines()]
    assert [line["event"] for line in lines] == ["gui.started", "qt.message", "gui.ended"]
    assert (lines[1]["text"], lines[1]["level"]) == ("a slot is missing", "warning")
    assert path_of(home).with_name("window.log.1").stat().st_size == LARGEST_BYTES + 1


def test_a_window_whose_log_cannot_be_written_opens_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gui").write_text("no folder")
    try:
        with logged(Home(tmp_path)):
            pass
    finally:
        log.configure()
    assert "gui.no_log" in capsys.readouterr().err


ALWAYS_TELLING = """
import sys
import threading
from PySide6.QtCore import QCoreApplication, Signal
from mosaic.gui.models import background_work

class Busy(background_work.BackgroundWork):
    said = Signal(int)

    def __init__(self):
        super().__init__()
        self.began, self.is_busy = threading.Event(), threading.Event()
        self.heard = 0
        self.said.connect(self.hear)

    def hear(self, number):
        self.heard += 1

    def work(self):
        self.tell(self.said, 1)
        self.began.set()
        # They tell without a pause only when the process is about to end: it could do nothing else.
        ending.wait()
        while True:
            self.tell(self.said, 1)
            self.is_busy.set()

application = QCoreApplication([])
ending = threading.Event()
busy = [Busy() for _ in range(40)]
for one in busy:
    one.run_beside(one.work, "busy")
    one.began.wait()
application.processEvents()
assert all(one.heard for one in busy)
ending.set()
for one in busy:
    one.is_busy.wait()
if "ended" in sys.argv:
    background_work.end()
    application.processEvents()
    heard = [one.heard for one in busy]
    application.processEvents()
    assert [one.heard for one in busy] == heard, "a thread signalled after the end"
"""


def test_threads_that_signal_until_the_end_do_not_crash_the_process() -> None:
    """Each such process ends with SIGSEGV where threads emit their signals themselves."""
    for words in [[], [], ["ended"]]:
        subprocess.run([sys.executable, "-c", ALWAYS_TELLING, *words], check=True, timeout=TIMEOUT_S)
