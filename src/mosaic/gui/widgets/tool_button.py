"""A small button that is only an icon, with its name as tool tip and for screen readers."""

from collections.abc import Callable

from PySide6.QtCore import QSize
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QToolButton

from mosaic.gui.assets import keep_icon, pixmap
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme


class IconTool(QToolButton):
    def __init__(self, theme: Theme, icon: str, name: str, clicked: Callable[[], object] | None = None) -> None:
        super().__init__()
        self._theme, self._icon, self._token = theme, icon, "muted"
        self.setProperty("tool", True)
        self.setIconSize(QSize(16, 16))
        self.setAutoRaise(True)
        self.rename(name)
        keep_icon(theme, icon, self._keep)
        if clicked is not None:
            self.clicked.connect(lambda _=False: clicked())

    def rename(self, name: str) -> None:
        self.setToolTip(tip(name))
        self.setAccessibleName(name)

    def show_icon(self, icon: str, token: str = "muted") -> None:
        """Another picture, for a button whose click does something else now."""
        if (icon, token) != (self._icon, self._token):
            self._icon, self._token = icon, token
            self.setIcon(QIcon(pixmap(self._theme, icon, token)))

    def _keep(self, icon: QIcon) -> None:  # noqa: ARG002 (it may have another one by now)
        self.setIcon(QIcon(pixmap(self._theme, self._icon, self._token)))
