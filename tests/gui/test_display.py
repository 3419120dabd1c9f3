"""The window on a real X display (Xvfb): it is drawn, it starts the daemon, Ctrl-C closes it, the daemon stays."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QImage

from mosaic.rpc.locate import running_address
from mosaic.spec.run_dir import Home

MOSAIC = Path(sys.executable).with_name("mosaic")
START_S = 300.0
SHOT = """
import sys, time
from PySide6.QtGui import QGuiApplication
from mosaic.gui import app
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.spec.run_dir import Home
application = app.make_application()
assert QGuiApplication.platformName() == "xcb"
opened = app.open_window(application, Home.resolve(), DaemonLink(Home.resolve()), theme="dark")
opened.window.show()
opened.start()
end = time.monotonic() + 300
while not (opened.link.state == "connected" and opened.window.form.form.fields) and time.monotonic() < end:
    application.processEvents()
    time.sleep(0.01)
for _ in range(50):
    application.processEvents()
    time.sleep(0.01)
opened.window.screen().grabWindow(0).save(sys.argv[1])
opened.close()
"""


@pytest.fixture
def display() -> Iterator[dict[str, str]]:
    """The environment of a program on a display of its own."""
    assert shutil.which("Xvfb"), "Xvfb is missing; 'make setup' installs it, or: apt-get install xvfb"
    reader, writer = os.pipe()
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1600x960x24", "-nolisten", "tcp"]
    with subprocess.Popen(command, pass_fds=[writer], stderr=subprocess.DEVNULL) as server:
        os.close(writer)
        with os.fdopen(reader) as said:
            number = said.readline().strip()
        yield {**os.environ, "DISPLAY": f":{number}", "QT_QPA_PLATFORM": "xcb", "QT_FONT_DPI": "96"}
        server.terminate()


def test_the_window_is_drawn(display: dict[str, str], home: Home, tmp_path: Path) -> None:
    picture = tmp_path / "screen.png"
    environment = display | {"MOSAIC_HOME": str(home.root)}
    subprocess.run([sys.executable, "-c", SHOT, str(picture)], env=environment, check=True, timeout=300)
    image = QImage(str(picture)).convertToFormat(QImage.Format.Format_RGB32)
    assert image.width() == 1600
    pixels = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), image.width())
    assert len(np.unique(pixels)) > 200, "text and icons have many shades"
    # Runs, tabs and form lie beside each other: each third has something on it.
    assert all(len(np.unique(third)) > 40 for third in np.array_split(pixels, 3, axis=1))


def test_the_command_starts_the_daemon_and_leaves_it_when_closed(display: dict[str, str], home: Home) -> None:
    environment = display | {"MOSAIC_HOME": str(home.root)}
    command = [MOSAIC, "gui"]
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as window:
        end = time.monotonic() + START_S
        while not running_address(home):
            assert window.poll() is None, window.communicate()[1]
            assert time.monotonic() < end
            time.sleep(0.05)
        time.sleep(1)  # it is in its event loop by then, not in the middle of being made
        os.killpg(window.pid, signal.SIGINT)  # as a terminal does
        _, said = window.communicate(timeout=300)
    assert window.returncode == 0, said
    assert "Traceback" not in said
    assert (home.root / "gui.ini").exists()
    assert running_address(home)
