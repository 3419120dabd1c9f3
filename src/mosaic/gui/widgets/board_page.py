"""What the TensorBoard tab shows where there is no page of TensorBoard: what is going on, and what to do."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from mosaic.gui.assets import mono_font
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.parts import copy_button, icon_button, icon_label, label, row

WIDTH = 620


class BoardPage(QWidget):
    """A title, a sentence, perhaps a text to copy or to read, and one of two buttons."""

    def __init__(self, theme: Theme, *, retry: Callable[[], object], open_: Callable[[], object]) -> None:
        super().__init__()
        self.setProperty("panel", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.title = label("", "title")
        self.text = label("", "muted", selectable=True)
        self.text.setWordWrap(True)
        self.text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.text.setFixedWidth(WIDTH)
        self.code = QPlainTextEdit()
        self.code.setReadOnly(True)
        self.code.setFont(mono_font())
        self.code.setProperty("code", True)
        self.code.setFixedSize(WIDTH, 170)
        self.copy = copy_button(theme, "Copy", self.code.toPlainText)
        self.retry = icon_button(theme, "refresh-cw", "Retry", token="on_accent")
        self.retry.clicked.connect(lambda _=False: retry())
        self.open = icon_button(theme, "external-link", "Open in browser", token="on_accent")
        self.open.clicked.connect(lambda _=False: open_())
        for button in (self.retry, self.open):
            button.setProperty("primary", True)
        layout = QVBoxLayout(self)
        layout.setSpacing(12)
        layout.addStretch(2)
        layout.addLayout(row(1, icon_label(theme, "chart-column-big", "faint", 40), 1))
        layout.addLayout(row(1, self.title, 1))
        layout.addLayout(row(1, self.text, 1))
        layout.addLayout(row(1, self.code, 1))
        layout.addLayout(row(1, self.copy, self.retry, self.open, 1))
        layout.addStretch(3)

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
