"""`mosaic gui`: open the window, as a process of its own."""

import os
import re
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from mosaic.cli.daemon.connection import current, look
from mosaic.errors import MosaicError
from mosaic.spec.catalogue.extras import GUI
from mosaic.spec.processes import secret_keys
from mosaic.spec.processes.python_child import PythonChild

MODULE = "mosaic.gui"


class WindowFailed(MosaicError):
    """It was killed, or killed itself: Qt does so where it cannot draw."""


def main(argv: Sequence[str]) -> int:
    GUI.require("the window")
    words = tuple(argv)
    if not any(word in ("-h", "--help") for word in argv):
        refuse_without_display()
        words += _reach()
    # Where the user is: there its dialogs begin, and there are the files that its flags name.
    with PythonChild(module=MODULE, words=words, keys=secret_keys.ALL, cwd=None).popen() as window:
        # Ctrl-C reaches the window too, which closes by itself and remembers its layout: not to be cut short from here.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            code = window.wait()
        finally:
            signal.signal(signal.SIGINT, before)
    if code == -signal.SIGINT:
        raise KeyboardInterrupt
    if code < 0:
        raise WindowFailed(f"the window was ended by {signal.Signals(-code).name}; its last messages are above")
    return code


def _reach() -> tuple[str, ...]:
    """The words that make the window talk to the daemon at --target, which must answer first."""
    chosen = current()
    if chosen.target is None:
        return ()
    with look() as client:
        client.health()
    certificate = () if chosen.certificate is None else ("--certificate", str(chosen.certificate))
    return ("--target", chosen.target, *certificate)


ANSWER_S = 3.0
X_PORT = 6000
_X_DISPLAY = re.compile(r"(?:(?:unix/?)?|(?P<host>[^:/]+)):(?P<number>\d+)(?:\.\d+)?")


class NoDisplay(MosaicError):
    """No display answers: Qt would end the process without a word that helps."""

    exit_code = 3

    def __init__(self, why: str) -> None:
        super().__init__(
            f"this machine has no display for the window ({why}); log in with 'ssh -X', set QT_QPA_PLATFORM=vnc and"
            " connect a VNC viewer to port 5900, or stay in the terminal with 'mosaic runs'"
        )


def refuse_without_display(platform: str = sys.platform, environment: Mapping[str, str] = os.environ) -> None:
    """NoDisplay, unless one answers; macOS and Windows always have one, and QT_QPA_PLATFORM may need none."""
    plugin = environment.get("QT_QPA_PLATFORM", "")
    if platform in ("darwin", "win32") or (plugin and not plugin.startswith(("xcb", "wayland"))):
        return
    named = {name: environment.get(name, "") for name in ("WAYLAND_DISPLAY", "DISPLAY")}
    if not any(named.values()):
        raise NoDisplay("neither DISPLAY nor WAYLAND_DISPLAY is set")
    if not (_wayland_answers(named["WAYLAND_DISPLAY"], environment) or _x_answers(named["DISPLAY"])):
        silent = " and ".join(f"{name}={value}" for name, value in named.items() if value)
        raise NoDisplay(f"nothing answers at {silent}")


def _wayland_answers(name: str, environment: Mapping[str, str]) -> bool:
    folder = environment.get("XDG_RUNTIME_DIR", "")
    return bool(name) and _unix_answers(str(Path(folder) / name))


def _x_answers(name: str) -> bool:
    match = _X_DISPLAY.fullmatch(name)
    if match is None:
        return bool(name)  # A form that we do not know: Qt is to try it.
    if host := match["host"]:
        try:
            socket.create_connection((host, X_PORT + int(match["number"])), timeout=ANSWER_S).close()
        except (OSError, OverflowError):
            return False
        return True
    path = f"/tmp/.X11-unix/X{match['number']}"
    return _unix_answers(path) or _unix_answers(f"\0{path}")


def _unix_answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(ANSWER_S)
        try:
            probe.connect(path)
        except OSError:
            return False
    return True
