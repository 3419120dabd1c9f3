"""The TensorBoard tab: a real TensorBoard on the selected runs, in the window, or in the browser without WebEngine."""

import shlex
from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import QCoreApplication, Qt, QTimer, QUrl
from PySide6.QtGui import QCloseEvent, QDesktopServices, QPaintEvent
from PySide6.QtWidgets import QPushButton, QWidget

from mosaic.gui.models.daemon.news import Notice
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.tracking.tensorboard_folders import TensorBoardFolders
from mosaic.gui.models.tracking.tensorboard_process import TensorBoardProcess
from mosaic.gui.models.wording import name_of
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import (
    Panel,
    column,
    copy_button,
    icon_button,
    icon_label,
    label,
    pages,
    read_only,
    row,
    scrolled,
)
from mosaic.gui.widgets.tracking import web_view
from mosaic.gui.widgets.tracking.web_view import WebView
from mosaic.installation import install_line
from mosaic.spec.run_record import RunRecord
from mosaic.track.tensorboard_child import RELOAD_S
from mosaic.track.tensorboard_links import BoardRun


class TensorBoardTab(QWidget):
    """Nothing is started before the tab is first seen."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio, self._theme = studio, theme
        self.board = TensorBoardProcess()
        self._folders = TensorBoardFolders(studio.link, self)
        self.web: WebView | None = None
        self._web_problem = "" if web_view.is_installed() else "WebEngine is not installed"
        self.page = TensorBoardPage(theme, retry=self.board.retry, open_=self._open)
        self._status = label("", "muted")
        self._address = label("", "faint", selectable=True)
        self.reload = icon_button(theme, "refresh-cw", "Reload", lambda: self.web and self.web.reload())
        self.open = icon_button(theme, "external-link", "Open in browser", self._open)
        self._copy = copy_button(theme, "Copy address", lambda: self.address)
        self._stack = pages(scrolled(self.page))
        parts = (self._status, self._address, 1, self.reload, self._copy, self.open)
        column(self, row(*parts, margins=(14, 8, 12, 8)), (self._stack, 1))
        self._is_elsewhere = self._is_asked_for = False
        """It is in the browser; it is to be opened there as soon as it can be."""
        self._look = QTimer(self, singleShot=True)
        self._look.timeout.connect(self._show_runs)
        self._reload_later = QTimer(self, singleShot=True, interval=1000 * RELOAD_S + 500)
        self._reload_later.timeout.connect(lambda: self.web and self.web.reload())
        self.board.changed.connect(self.refresh)
        self.board.changed.connect(self._open_if_asked_for)
        self._folders.changed.connect(self.refresh)
        self.board.relinked.connect(self._reload_later.start)
        studio.selection_changed.connect(self._show_runs)
        studio.runs_changed.connect(self._show_runs)
        theme.changed.connect(self.refresh)
        self.destroyed.connect(self.board.stop)
        application = QCoreApplication.instance()
        if application is not None:
            application.aboutToQuit.connect(self.board.stop)
        self.refresh()

    @staticmethod
    def has_a_page(studio: Studio) -> bool:
        """Without WebEngine a tab would only name a browser; of runs on another machine it has a command to show."""
        return web_view.is_installed() or studio.link.is_remote

    def open_elsewhere(self) -> None:
        """In the browser, once TensorBoard is there; it follows the selection from then on."""
        self._is_elsewhere = self._is_asked_for = True
        if not self.runs():
            self._is_asked_for = False
            self._say("TensorBoard: select one or more runs first")
        elif self.board.state == "failed":
            self.board.retry()
        self.board.show_runs(self.runs())
        if self._is_asked_for:
            self._say("TensorBoard is starting; it opens in the browser …", kind="info")
        self._open_if_asked_for()

    def _open_if_asked_for(self) -> None:
        if not self._is_asked_for:
            return
        if self.board.state == "failed":
            self._is_asked_for = False
            last = self.board.output.strip().rpartition("\n")[2]
            self._say(f"{self.board.problem} {last}".strip())
        elif self.board.url:
            self._is_asked_for = False
            self._open()
            here = f"; to have it in this window: {install_line('web')}" if not self._studio.link.is_remote else ""
            self._say(f"TensorBoard is in the browser: {self.board.url}{here}", kind="info")

    def _say(self, text: str, *, kind: Literal["info", "warn"] = "warn") -> None:
        self._studio.noticed.emit(Notice(text, kind=kind))

    @property
    def address(self) -> str:
        """Of the page with the time series, in the colours of the window."""
        dark = "true" if self._theme.scheme == "dark" else "false"
        return f"{self.board.url}?darkMode={dark}#timeseries" if self.board.url else ""

    def paintEvent(self, event: QPaintEvent) -> None:
        # Not showEvent: a dock behind other tabs counts as shown, and is not seen.
        super().paintEvent(event)
        if self.board.state == "idle":
            self._look.start()

    def closeEvent(self, event: QCloseEvent) -> None:
        """The window closes."""
        if self.web is not None:
            self.web.widget.deleteLater()
            self.web = None
        self.board.stop()
        super().closeEvent(event)

    def runs(self) -> list[BoardRun]:
        return [BoardRun(name_of(record), record.run_dir) for record in self._records()]

    def _records(self) -> list[RunRecord]:
        return [record for record in self._studio.runs.of(self._studio.selected) if record.run_dir]

    def _show_runs(self) -> None:
        if self._is_elsewhere and self.runs():
            self.board.show_runs(self.runs())
        elif not self.visibleRegion().isEmpty():
            if self._studio.link.is_remote:
                self._folders.look(self._records())
            else:
                self.board.show_runs(self.runs())
            self.refresh()

    def refresh(self) -> None:
        board, runs = self.board, self.runs()
        self._status.setText(self._summary(len(runs)))
        self._address.setText(board.url)
        is_embedded = bool(board.url and runs) and self._embed()
        for button, is_shown in ((self.reload, is_embedded), (self._copy, board.url), (self.open, board.url)):
            button.setVisible(bool(is_shown))
        if is_embedded:
            return
        self._stack.setCurrentIndex(0)
        if self._studio.link.is_remote:
            text = "TensorBoard has to run where they are:"
            self.page.say("The event files are on another machine", text, code=self._remote_command())
        elif not runs:
            self.page.say("No run is selected", "Select one or more runs on the left.")
        elif board.state == "failed":
            self.page.say("TensorBoard has ended", board.problem, code=board.output.strip(), button=self.page.retry)
        elif board.url:
            install = "" if web_view.is_installed() else f"; to have it here: {install_line('web')}"
            self.page.say("TensorBoard opens in the browser", f"{self._web_problem}{install}", button=self.page.open)
        else:
            self.page.say("TensorBoard is starting…", "This takes a few seconds.")

    def _embed(self) -> bool:
        """Show the page in this window, if that is possible."""
        if self._web_problem:
            return False
        if self.web is None:
            try:
                self.web = WebView(self._lose_web)
            except ImportError as error:
                self._web_problem = f"WebEngine could not be loaded ({error})"
                return False
            self._stack.addWidget(self.web.widget)
        self.web.show_page(self.address)
        self._stack.setCurrentWidget(self.web.widget)
        return True

    def _lose_web(self) -> None:
        self._web_problem = "The page in this window has crashed"
        self.refresh()

    def _summary(self, count: int) -> str:
        if not self.board.url or not count:
            return ""
        written = self.board.with_events
        runs = f"{count} run{'' if count == 1 else 's'}"
        return runs if written >= count else f"{written} of {runs} with event files"

    def _remote_command(self) -> str:
        host = (self._studio.link.target or "").rpartition(":")[0]
        folders = [
            f"{name_of(record).replace(',', ' ').replace(':', ' ')}:{folder}"
            for record in self._records()
            for folder in self._folders.of(record)
        ]
        spec = ",".join(folders) or "FOLDER"
        command = ["tensorboard", "--host", "127.0.0.1", "--port", "6006", "--logdir_spec", spec]
        return (
            f"# on {host}:\n{shlex.join(command)}\n\n"
            f"# here:\nssh -N -L 6006:127.0.0.1:6006 {host}\n\n# then open http://127.0.0.1:6006"
        )

    def _open(self) -> None:
        QDesktopServices.openUrl(QUrl(self.address))


WIDTH = 620


class TensorBoardPage(Panel):
    """A title, a sentence, perhaps a text to copy or to read, and one of two buttons."""

    def __init__(self, theme: Theme, *, retry: Callable[[], object], open_: Callable[[], object]) -> None:
        super().__init__()
        self.title = label("", "title")
        self.text = label("", "muted", selectable=True, wraps=True)
        self.text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.text.setFixedWidth(WIDTH)
        self.code = read_only("Details")
        self.code.setProperty("code", True)
        self.code.setFixedSize(WIDTH, 170)
        self.copy = copy_button(theme, "Copy", self.code.toPlainText)
        self.retry = icon_button(theme, "refresh-cw", "Retry", retry, primary=True)
        self.open = icon_button(theme, "external-link", "Open in browser", open_, primary=True)
        icon = icon_label(theme, "chart-column-big", "faint", 40)
        lines = [(icon,), (self.title,), (self.text,), (self.code,), (self.copy, self.retry, self.open)]
        column(self, 2, *(row(1, *line, 1) for line in lines), 3, spacing=12, margins=None)

    def say(self, title: str, text: str = "", *, code: str = "", button: QPushButton | None = None) -> None:
        """Empty parts are not shown."""
        self.title.setText(title)
        self.text.setText(text)
        if code != self.code.toPlainText():
            self.code.setPlainText(code)
            self.code.verticalScrollBar().setValue(self.code.verticalScrollBar().maximum())
        for widget, is_shown in ((self.text, text), (self.code, code), (self.copy, code)):
            widget.setVisible(bool(is_shown))
        for each in (self.retry, self.open):
            each.setVisible(each is button)
