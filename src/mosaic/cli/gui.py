"""`mosaic gui`: open the window, as a process of its own."""

import os
import signal
import sys
from collections.abc import Mapping, Sequence

from mosaic.errors import MosaicError
from mosaic.spec import keys
from mosaic.spec.extras import GUI
from mosaic.spec.python_child import PythonChild

MODULE = "mosaic.gui"
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")


class NoDisplay(MosaicError):
    exit_code = 3

    def __init__(self) -> None:
        super().__init__(
            "this machine has no display for the window (neither DISPLAY nor WAYLAND_DISPLAY is set);"
            " log in with 'ssh -X', set QT_QPA_PLATFORM=vnc and connect a VNC viewer to port 5900,"
            " or stay in the terminal with 'mosaic runs'"
        )


def main(argv: Sequence[str]) -> int:
    GUI.require("the window")
    asks_for_help = any(word in ("-h", "--help") for word in argv)
    if not asks_for_help and not has_display(sys.platform, os.environ):
        raise NoDisplay
    # Where the user is: there its dialogs begin, and there are the files that its flags name.
    with PythonChild(module=MODULE, words=tuple(argv), keys=keys.ALL, cwd=None).popen() as window:
        # Ctrl-C reaches the window too, which closes by itself and remembers its layout: not to be cut short from here.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            return window.wait()
        finally:
            signal.signal(signal.SIGINT, before)


def has_display(platform: str, environment: Mapping[str, str]) -> bool:
    """macOS and Windows always have one."""
    return platform in ("darwin", "win32") or any(environment.get(name) for name in DISPLAYS)
