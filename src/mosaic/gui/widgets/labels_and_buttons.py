"""Small parts that several views share: labels and buttons by their role in the style sheet, and lines of them."""

from collections.abc import Callable
from typing import Literal, TypeAlias

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication, QIcon, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLayout,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from mosaic.gui.assets import keep_icon, mono_font
from mosaic.gui.theme import Theme
from mosaic.plain_text import plain

LabelRole: TypeAlias = Literal["chip", "heading", "title", "section", "muted", "faint", "code"]

COPIED_MS = 1500


class PlainLabel(QLabel):
    """Shows text as text: a QLabel takes what looks like HTML for HTML, pictures included.

    For HTML of our own, set the format and put `in_html` around what comes from elsewhere.
    """

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)

    def setText(self, text: str) -> None:
        super().setText(plain(text))


class ElidedLabel(PlainLabel):
    """A line that takes the room that is left for it; a QLabel would rather push its neighbours out of the window."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        shown = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
        painter.end()


class Panel(QWidget):
    """A widget on the colour of panels."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("panel", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)


def restyle(widget: QWidget, name: str, value: object) -> None:
    """Give a property of the style sheet another value, if it has another one now."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().polish(widget)


def scrolled(inside: QWidget) -> QScrollArea:
    """A page that scrolls up and down, and is as wide as its place."""
    made = QScrollArea()
    made.setWidget(inside)
    made.setWidgetResizable(True)
    made.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    return made


def label(text: str, role: LabelRole, *, selectable: bool = False) -> QLabel:
    made = PlainLabel(text)
    made.setProperty(role, True)
    if role == "code":
        made.setFont(mono_font())
    if selectable:
        made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return made


def icon_label(theme: Theme, name: str, token: str = "muted", size: int = 16) -> QLabel:
    made = PlainLabel()
    made.setFixedSize(size, size)
    keep_icon(theme, name, lambda icon: made.setPixmap(icon.pixmap(size, size)), token)
    return made


def search_field(theme: Theme, placeholder: str, changed: Callable[[str], None]) -> QLineEdit:
    made = QLineEdit()
    made.setPlaceholderText(placeholder)
    made.setClearButtonEnabled(True)
    made.setAccessibleName(placeholder)
    action = made.addAction(QIcon(), QLineEdit.ActionPosition.LeadingPosition)
    keep_icon(theme, "search", action.setIcon)
    made.textChanged.connect(changed)
    return made


def chip_button(text: str, *, checked: bool, toggled: Callable[[bool], None]) -> QPushButton:
    made = QPushButton(text)
    made.setProperty("chip", True)
    made.setCheckable(True)
    made.setChecked(checked)
    made.toggled.connect(toggled)
    return made


def icon_button(theme: Theme, icon: str, text: str, *, token: str = "muted") -> QPushButton:
    made = QPushButton(f" {text}")
    keep_icon(theme, icon, made.setIcon, token)
    return made


def copy_button(theme: Theme, text: str, content: Callable[[], str], *, token: str = "muted") -> QPushButton:
    """Puts something on the clipboard, and shows for a moment that it did."""
    made = icon_button(theme, "copy", text, token=token)
    back = QTimer(made)
    back.setSingleShot(True)
    back.setInterval(COPIED_MS)
    back.timeout.connect(lambda: made.setText(f" {text}"))

    def copy() -> None:
        QGuiApplication.clipboard().setText(plain(content()))
        made.setText(" Copied")
        back.start()

    made.clicked.connect(copy)
    return made


Part: TypeAlias = QWidget | QLayout | int | tuple[QWidget | QLayout, int]
"""A widget or a layout, with how much it stretches; a number alone is a stretch."""


def column(
    of: QWidget, *parts: Part, spacing: int | None = 0, margins: tuple[int, int, int, int] = (0, 0, 0, 0)
) -> QVBoxLayout:
    """The parts of a widget below one another; the space between them is the style's if it is None."""
    made = QVBoxLayout(of)
    if spacing is not None:
        made.setSpacing(spacing)
    made.setContentsMargins(*margins)
    for part in parts:
        if isinstance(part, int):
            made.addStretch(part)
            continue
        inner, stretch = part if isinstance(part, tuple) else (part, 0)
        if isinstance(inner, QLayout):
            made.addLayout(inner, stretch)
        else:
            made.addWidget(inner, stretch)
    return made


def row(*widgets: QWidget | int, spacing: int = 8, margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> QHBoxLayout:
    """Widgets in a line; a number is a stretch."""
    made = QHBoxLayout()
    made.setSpacing(spacing)
    made.setContentsMargins(*margins)
    for widget in widgets:
        if isinstance(widget, int):
            made.addStretch(widget)
        else:
            made.addWidget(widget)
    return made
