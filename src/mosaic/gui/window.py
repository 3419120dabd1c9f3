"""The window: its parts, its menus, and how it was left the last time. Closing it touches no run."""

from PySide6.QtCore import QSettings

from mosaic.gui.menus import Menus
from mosaic.gui.models.studio import Studio
from mosaic.gui.shell import Shell
from mosaic.gui.theme import Theme


class Window(Shell):
    """The whole."""

    def __init__(self, studio: Studio, theme: Theme, settings: QSettings) -> None:
        with theme.set_aside():
            super().__init__(studio, theme, settings)
            self.menus = Menus(self)
        self.restore()
