"""A web page inside the window, where WebEngine is installed; nothing of it is kept on disk."""

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, Qt, QUrl
from PySide6.QtGui import QDesktopServices

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


def is_installed() -> bool:
    return importlib.util.find_spec("PySide6.QtWebEngineWidgets") is not None


def prepare() -> None:
    """What WebEngine needs before there is an application; nothing where it is not installed."""
    if not is_installed():
        return
    QCoreApplication.setAttribute(Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    if os.geteuid() == 0:
        # Chromium's sandbox refuses root, and takes the whole process with it, without a word.
        os.environ.setdefault("QTWEBENGINE_DISABLE_SANDBOX", "1")
    if not any(Path("/dev/dri").glob("render*")) and not Path("/dev/nvidia0").exists():
        # With OpenGL in software, one web view makes all painting of its window 2.5 times dearer.
        os.environ.setdefault("QT_QUICK_BACKEND", "software")


def is_here(url: QUrl) -> bool:
    """A page of this machine, or made by such a page."""
    return url.scheme() in ("data", "blob", "about") or url.host() in ("127.0.0.1", "localhost")


def is_web(url: QUrl) -> bool:
    """Any page, but no file of this machine."""
    return url.scheme() in ("https", "http", "data", "blob", "about", "wss", "ws")


class WebView:
    """Made only if `is_installed`; `widget` is what is shown. `may_load` says which addresses it asks for at all."""

    def __init__(self, crashed: Callable[[], object], may_load: Callable[[QUrl], bool] = is_here) -> None:
        # Here, because it takes a fifth of a second and 100 MB.
        from PySide6.QtWebEngineCore import QWebEnginePage, QWebEngineProfile, QWebEngineUrlRequestInterceptor
        from PySide6.QtWebEngineWidgets import QWebEngineView

        class OnlyAllowed(QWebEngineUrlRequestInterceptor):
            def interceptRequest(self, info: Any) -> None:
                if not may_load(info.requestUrl()):
                    info.block(True)

        class Page(QWebEnginePage):
            def acceptNavigationRequest(self, url: Any, kind: Any, isMainFrame: bool) -> bool:  # noqa: ARG002, N803
                return may_load(QUrl(url))

            def javaScriptConsoleMessage(self, level: Any, message: str, line: int, source: str) -> None:
                """What a page tells its console is not for ours."""

        def open_outside(request: Any) -> None:
            """What a page wants to open in another window is for the browser."""
            if may_load(request.requestedUrl()):
                QDesktopServices.openUrl(request.requestedUrl())

        def ended(how: Any) -> None:
            if how != QWebEnginePage.RenderProcessTerminationStatus.NormalTerminationStatus:
                crashed()

        view = QWebEngineView()
        # Without a name a profile keeps nothing on disk.
        self._profile = QWebEngineProfile()
        self._interceptor = OnlyAllowed(self._profile)
        self._profile.setUrlRequestInterceptor(self._interceptor)
        self._page = Page(self._profile, view)
        # A child after the page, so that it is deleted after it; the other way round WebEngine crashes at times.
        self._profile.setParent(view)
        self._page.newWindowRequested.connect(open_outside)
        view.setPage(self._page)
        view.renderProcessTerminated.connect(ended)
        self._view = view
        self._address = ""
        self.widget: QWidget = view

    def show_page(self, address: str) -> None:
        """The page itself may change its address; that is not a reason to go back."""
        if address != self._address:
            self._address = address
            self._view.setUrl(QUrl(address))

    @property
    def title(self) -> str:
        """Of the page that is shown."""
        return self._view.title()

    def reload(self) -> None:
        self._view.reload()
