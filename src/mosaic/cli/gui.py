"""`mosaic gui`: open the window, as a process of its own."""

import signal
from collections.abc import Sequence

from mosaic.cli.display import refuse_without_display
from mosaic.cli.reach import current, look
from mosaic.errors import MosaicError
from mosaic.spec import keys
from mosaic.spec.extras import GUI
from mosaic.spec.python_child import PythonChild

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
    with PythonChild(module=MODULE, words=words, keys=keys.ALL, cwd=None).popen() as window:
        # Ctrl-C reaches the window too, which closes by itself and remembers its layout: not to be cut short from here.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            code = window.wait()
        finally:
            signal.signal(signal.SIGINT, before)
    if code == -signal.SIGINT:
        raise KeyboardInterrupt
    if code < 0:
        raise WindowFailed(f"the window was ended by {signal.Signals(-code).name}; what it said last stands above")
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
