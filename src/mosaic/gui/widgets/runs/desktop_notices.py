"""Notifications on the desktop of the window, where the daemon could show none: a daemon elsewhere, or a Mac."""

from PySide6.QtCore import QObject
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QSystemTrayIcon

from mosaic.gui.assets import pixmap
from mosaic.gui.models.runs.alerts_model import Alerts
from mosaic.gui.theme import Theme
from mosaic.rpc.client import AlertNews

SHOWN_MS = 15_000
ICON = 32


class DesktopNotices(QObject):
    """The icon in the tray is there only from the first notification on."""

    def __init__(self, theme: Theme, alerts: Alerts) -> None:
        super().__init__()
        self._theme = theme
        self._icon: QSystemTrayIcon | None = None
        self.shown = 0
        alerts.undelivered.connect(self._show)

    @staticmethod
    def why_none() -> str:
        if not QSystemTrayIcon.isSystemTrayAvailable() or not QSystemTrayIcon.supportsMessages():
            return "none, this desktop offers no place for them"
        return ""

    def close(self) -> None:
        if self._icon is not None:
            self._icon.hide()
            self._icon = None

    def _show(self, alert: AlertNews) -> None:
        if self.why_none():
            return
        if self._icon is None:
            self._icon = QSystemTrayIcon(QIcon(pixmap(self._theme, "bell", "accent", ICON)))
            self._icon.setToolTip("MOSAIC")
            self._icon.show()
        kind = QSystemTrayIcon.MessageIcon
        icon = kind.Information if alert.cause == "end" else kind.Warning
        self._icon.showMessage(alert.title, alert.text, icon, SHOWN_MS)
        self.shown += 1
