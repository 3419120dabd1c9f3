"""A page that has nothing to show, and says why."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import Panel, column, icon_label, label, row

WIDTH = 420


class BlankPage(Panel):
    """An icon and a sentence in the middle."""

    def __init__(self, theme: Theme, icon: str, text: str = "", *, below: QWidget | None = None) -> None:
        """`below` is what can be done about it."""
        super().__init__()
        self._text = label(text, "muted", selectable=True, wraps=True)
        self._text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._text.setFixedWidth(WIDTH)
        # Otherwise the text would keep a narrow window from being narrow.
        self.setMinimumSize(160, 80)
        above = row(1, icon_label(theme, icon, "faint", 40), 1)
        parts = (above, row(1, self._text, 1), *((row(1, below, 1),) if below is not None else ()))
        column(self, 2, *parts, 3, spacing=14, margins=None)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._text.setFixedWidth(min(WIDTH, max(self.width() - 40, 100)))

    @property
    def text(self) -> str:
        return self._text.text()

    def say(self, text: str) -> None:
        if text != self._text.text():
            self._text.setText(text)
