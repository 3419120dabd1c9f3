"""A strip at the edge of the window where a side panel was: a click, a key or a drag brings the panel back."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QDockWidget, QWidget

from mosaic.gui.assets import pixmap
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme

WIDTH, CHEVRON = 14, 12


class EdgeHandle(QWidget):
    """Seen only while its panel is not."""

    asked = Signal()

    def __init__(self, theme: Theme, dock: QDockWidget, keys: str, *, at_left: bool) -> None:
        super().__init__()
        self._theme, self._icon = theme, "chevron-right" if at_left else "chevron-left"
        self.setFixedWidth(WIDTH)
        self.setCursor(Qt.CursorShape.SplitHCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        name = f"Show the panel “{dock.windowTitle()}”"
        self.setToolTip(tip(f"{name} ({keys})"))
        self.setAccessibleName(name)
        self.asked.connect(dock.show)
        self._dock = dock
        dock.visibilityChanged.connect(self._follow)
        theme.changed.connect(self.update)
        self.hide()

    def _follow(self, _: bool) -> None:
        self.setVisible(self._dock.isHidden())

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, 80)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Wherever it is let go: pulled out, or only clicked."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.asked.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.asked.emit()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(event.rect(), self._theme.colour("raised" if self.underMouse() else "panel"))
        at = (WIDTH - CHEVRON) // 2, (self.height() - CHEVRON) // 2
        painter.drawPixmap(*at, pixmap(self._theme, self._icon, "muted", CHEVRON))
