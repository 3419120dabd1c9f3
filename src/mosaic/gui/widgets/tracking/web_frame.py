"""A page of the web inside a tab, with its address and the way back; made when it is first wanted."""

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import ElidedLabel, column, icon_button, row
from mosaic.gui.widgets.tracking import web_view
from mosaic.gui.widgets.tracking.web_proxy import WebProxy
from mosaic.gui.widgets.tracking.web_view import WebView


class WebFrame(QWidget):
    """Shows one address after another; `problem` says why it cannot."""

    def __init__(self, theme: Theme, *, back: Callable[[], object], open_: Callable[[], object]) -> None:
        super().__init__()
        self.web: WebView | None = None
        self.address = ""
        self.problem = "" if web_view.is_installed() else "WebEngine is not installed"
        self.crash = ""
        """Text for the user, once the page has crashed."""
        self._back = back
        self._proxy = WebProxy()
        self._through = ""
        self._where = ElidedLabel("faint")
        self.back = icon_button(theme, "cloud-upload", "Back to the export", back)
        self.reload = icon_button(theme, "refresh-cw", "Reload", lambda: self.web and self.web.reload())
        self.open = icon_button(theme, "external-link", "Open in browser", open_)
        bar = row(self.back, (self._where, 1), self.reload, self.open, margins=(14, 8, 12, 8))
        self._layout = column(self, bar)

    def show_page(self, address: str, proxy: str = "") -> bool:
        """Through this proxy, where there is one; whether it can be shown at all."""
        if self.problem:
            return False
        if self.web is not None and proxy != self._through:
            # A view that has asked for something already would ask for the next thing by its old way.
            self.end()
        if self.web is None:
            self._proxy.use(proxy)
            self._through = proxy
            try:
                self.web = WebView(self._lose, may_load=web_view.is_web)
            except ImportError as error:
                self.problem = f"WebEngine could not be loaded ({error})"
                return False
            self._layout.addWidget(self.web.widget, 1)
        self.address = address
        self._where.setText(address)
        self._where.setToolTip(tip(address))
        self.web.show_page(address)
        return True

    def end(self) -> None:
        """Let go of the page, and of the proxy."""
        self._proxy.leave()
        if self.web is not None:
            self.web.widget.deleteLater()
            self.web = None

    def _lose(self) -> None:
        self.problem = self.crash = "The page in this window has crashed; it opens in the browser."
        self.end()
        self._back()
