"""What an empty studio shows: how to start the first run."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from mosaic.gui.theme import Theme
from mosaic.gui.widgets.parts import copy_button, icon_label, label, row

WIDTH = 560


class EmptyState(QWidget):
    """A command to copy; the window shows its run as soon as it begins."""

    def __init__(self, theme: Theme, command: str) -> None:
        super().__init__()
        self.setProperty("panel", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        shown = label(command, "code", selectable=True)
        shown.setWordWrap(True)
        shown.setFixedWidth(WIDTH)
        self.copy = copy_button(theme, "Copy", lambda: command, token="on_accent")
        self.copy.setProperty("primary", True)
        layout = QVBoxLayout(self)
        layout.setSpacing(12)
        layout.addStretch(2)
        layout.addLayout(row(1, icon_label(theme, "chart-line", "faint", 44), 1))
        layout.addLayout(row(1, label("No runs yet", "title"), 1))
        layout.addLayout(row(1, label("Start one in a terminal. It appears here while it learns.", "muted"), 1))
        layout.addSpacing(6)
        layout.addLayout(row(1, shown, 1))
        layout.addLayout(row(1, self.copy, 1))
        layout.addStretch(3)
