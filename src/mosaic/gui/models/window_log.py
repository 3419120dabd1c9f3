"""The log of the window: `<home>/gui/window.log`, JSON lines, with Qt's own messages; a terminal gets warnings."""

import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler, qVersion

from mosaic import __version__, log
from mosaic.errors import HomeUnusable
from mosaic.spec.run_dir import Home

LARGEST_BYTES = 2 << 20
"""A larger one becomes `window.log.1` when a window opens; the one before that is gone."""
_LEVELS = {QtMsgType.QtDebugMsg: "debug", QtMsgType.QtInfoMsg: "info", QtMsgType.QtWarningMsg: "warning"}
_log = log.get_logger()


def path_of(home: Home) -> Path:
    return home.root / "gui" / "window.log"


@contextmanager
def logged(home: Home) -> Generator[None]:
    """From the start of a window to its end."""
    path = path_of(home)
    with suppress(OSError):  # Then the older lines stay in the one file.
        if path.stat().st_size > LARGEST_BYTES:
            path.replace(path.with_name(f"{path.name}.1"))
    try:
        log.configure(beside=path)
    except HomeUnusable as error:
        # A window on a home that cannot be written shows its runs all the same.
        log.configure()
        _log.warning("gui.no_log", error=str(error))
    _log.info("gui.started", version=__version__, qt=qVersion(), python=sys.version.split()[0])
    before = qInstallMessageHandler(_hear)
    try:
        yield
    finally:
        # Qt's handler is called until the process ends, when Python is gone already.
        qInstallMessageHandler(before)
        _log.info("gui.ended")


def _hear(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    level = _LEVELS.get(kind, "error")
    getattr(_log, level)("qt.message", text=message, category=context.category or "")
