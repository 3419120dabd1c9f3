"""The label of this window: it shows text as text. A QLabel takes what looks like HTML for HTML, pictures included."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from mosaic.plain_text import plain


class PlainLabel(QLabel):
    """For HTML of our own, set the format and put `in_html` around what comes from elsewhere."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)

    def setText(self, text: str) -> None:
        super().setText(plain(text))
