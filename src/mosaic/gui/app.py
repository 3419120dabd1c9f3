"""The application: flags, fonts, theme, the link to the daemon, the window, and the event loop."""

import gc
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from PySide6.QtCore import QObject, QSettings, QTimer
from PySide6.QtWidgets import QApplication

from mosaic import config
from mosaic.errors import MosaicError
from mosaic.gui.assets import load_fonts, text_font
from mosaic.gui.models import background_work
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.daemon.news import Notice
from mosaic.gui.models.daemon.news_feed import NewsFeed
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.window_log import logged
from mosaic.gui.theme import Scheme, Theme
from mosaic.gui.widgets.tracking import web_view
from mosaic.gui.window import Window
from mosaic.log import get_logger
from mosaic.spec.run_dir import Home

COLLECT_EVERY_MS = 500
SWITCH_INTERVAL_S = 0.001
"""Threads decode for tens of milliseconds; with Python's 5 ms each paint would wait that long for them."""

log = get_logger()


@dataclass(frozen=True, kw_only=True)
class GuiFlags:
    """Open the window on the runs of this home ($MOSAIC_HOME, else the user-data folder)."""

    theme: Literal["last", "dark", "light"] = "last"
    """Colours; "last" is what the window was closed with, dark the first time."""
    target: str | None = None
    """HOST:PORT of a daemon on another machine; without it the home's own daemon is found or started."""
    certificate: Path | None = None
    """TLS certificate of that daemon; not needed on loopback."""


class GarbageCollection(QObject):
    """Collects cyclic garbage in the GUI thread alone, from `start` on, for the rest of the process.

    Python collects in whichever thread happens to allocate, and what it finds there may be widgets: Qt does not survive
    the deletion of an object in another thread than its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self._timer = QTimer(self, interval=COLLECT_EVERY_MS)
        self._timer.timeout.connect(self._collect)

    def start(self) -> None:
        gc.disable()
        gc.freeze()  # modules and the window stay: they need not be looked through again and again
        self._timer.start()

    def stop(self) -> None:
        """Nothing is collected any more: threads may outlive the window."""
        self._timer.stop()

    def _collect(self) -> None:
        """The oldest generation that is due, as Python itself would."""
        counts, thresholds = gc.get_count(), gc.get_threshold()
        due = [generation for generation in range(3) if counts[generation] > thresholds[generation]]
        if due:
            gc.collect(due[-1])


@dataclass
class Opened:
    """A window with all that keeps it alive."""

    window: Window
    studio: Studio
    feed: NewsFeed
    link: DaemonLink
    theme: Theme
    garbage: GarbageCollection

    def start(self) -> None:
        """Begin to read and to look for the daemon."""
        self.garbage.start()
        self.feed.start()
        self.link.start()

    def close(self) -> None:
        self.window.close()
        self.feed.stop()
        self.link.stop()
        self.garbage.stop()


def main(argv: Sequence[str]) -> int:
    try:
        flags = config.from_flags(GuiFlags, argv, prog="mosaic gui")
        home = Home.resolve()
    except MosaicError as error:
        sys.stderr.write(f"error: {error.sentence}\n")
        return error.exit_code
    with logged(home):
        return _run(flags, home)


def _run(flags: GuiFlags, home: Home) -> int:
    application = make_application()
    link = DaemonLink(home, target=flags.target, certificate=flags.certificate)
    opened = open_window(application, home, link, theme=flags.theme)
    sys.excepthook = _excepthook(opened.studio)
    opened.studio.noticed.connect(_log_notice)
    interrupted = _close_on_interrupt(opened.window)
    opened.window.show()
    opened.start()
    # A loop that is told to end before it begins would not end.
    code = 0 if interrupted.is_set() else application.exec()
    opened.close()
    background_work.end()
    return code


def _log_notice(notice: Notice) -> None:
    log.info("gui.notice", text=notice.message, run_id=notice.run_id)


def make_application() -> QApplication:
    """The one application of this process."""
    web_view.prepare()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    application = QApplication(["mosaic"])
    application.setApplicationName("MOSAIC")
    load_fonts()
    application.setFont(text_font())
    return application


def open_window(
    application: QApplication, home: Home, link: DaemonLink, *, theme: Literal["last", "dark", "light"] = "last"
) -> Opened:
    """Everything but the event loop; `start()` begins to read."""
    settings = QSettings(str(home.root / "gui.ini"), QSettings.Format.IniFormat)
    remembered: Scheme = "light" if settings.value("scheme") == "light" else "dark"
    look = Theme(application, remembered if theme == "last" else theme)
    feed = NewsFeed(link)
    studio = Studio(home, feed, link)
    window = Window(studio, look, settings)
    return Opened(window, studio, feed, link, look, GarbageCollection())


def _close_on_interrupt(window: Window) -> threading.Event:
    """Ctrl-C closes the window, which remembers its layout; the event is set when that was asked for."""
    interrupted = threading.Event()

    def close(number: int, frame: object) -> None:  # noqa: ARG001 (what Python calls a handler with)
        interrupted.set()
        QTimer.singleShot(0, window.close)

    # It is called as soon as the interpreter runs, which the refresh timer makes four times a second.
    signal.signal(signal.SIGINT, close)
    return interrupted


def _excepthook(studio: Studio) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    """An error in a slot is logged and shown; the window lives on."""

    def hook(_: type[BaseException], error: BaseException, __: TracebackType | None) -> None:
        log.error("gui.error", exc_info=error)
        studio.noticed.emit(Notice(f"an error in the window: {error}"))

    return hook
