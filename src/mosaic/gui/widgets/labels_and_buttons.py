"""Small parts that several views share: labels and buttons by their role in the style sheet, and lines of them."""

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, TypeVar

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication, QIcon, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from mosaic.gui.assets import keep_icon, mono_font
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.plain_text import plain

LabelRole: TypeAlias = Literal["chip", "heading", "title", "section", "muted", "faint", "code"]

COPIED_MS = 1500
Box = TypeVar("Box", QHBoxLayout, QVBoxLayout)


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

    def __init__(self, role: LabelRole | None = None) -> None:
        super().__init__()
        if role is not None:
            self.setProperty(role, True)
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


class SaidLabel(PlainLabel):
    """A sentence about what was just done; it takes no room when there is nothing to say."""

    def __init__(self) -> None:
        super().__init__()
        self.setWordWrap(True)
        self.hide()

    def say(self, text: str, level: str) -> None:
        self.setText(text)
        restyle(self, "said", level)
        self.setVisible(bool(text))


class Card(QFrame):
    """A part of a page, with a border of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("card", True)


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


def label(text: str, role: LabelRole, *, selectable: bool = False, wraps: bool = False) -> QLabel:
    made = PlainLabel(text)
    made.setProperty(role, True)
    made.setWordWrap(wraps)
    if role == "code":
        made.setFont(mono_font())
    if selectable:
        made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return made


def verdict_label(tone: str) -> QLabel:
    """What went wrong, or should be known (`warn` or `bad`), in as many lines as that takes."""
    made = PlainLabel()
    made.setProperty("said", tone)
    made.setWordWrap(True)
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
    made = chip(text)
    made.setCheckable(True)
    made.setChecked(checked)
    made.toggled.connect(toggled)
    return made


def chip(text: str, clicked: Callable[[], object] | None = None, *, about: str = "") -> QPushButton:
    """A small button among others in a line."""
    made = push(text, clicked)
    made.setProperty("chip", True)
    made.setToolTip(tip(about))
    return made


def push(text: str, clicked: Callable[[], object] | None = None, *, default: bool = False) -> QPushButton:
    """`default` is the one that Return presses in a dialog."""
    made = QPushButton(text)
    made.setDefault(default)
    if clicked is not None:
        made.clicked.connect(lambda _=False: clicked())
    return made


def icon_button(
    theme: Theme, icon: str, text: str, clicked: Callable[[], object] | None = None, *, primary: bool = False
) -> QPushButton:
    """`primary` is what most want to do here."""
    made = push(f" {text}", clicked)
    made.setProperty("primary", primary)
    keep_icon(theme, icon, made.setIcon, "on_accent" if primary else "muted")
    return made


def copy_button(theme: Theme, text: str, content: Callable[[], str]) -> QPushButton:
    """Puts something on the clipboard, and shows for a moment that it did."""
    made = icon_button(theme, "copy", text)
    back = QTimer(made, singleShot=True, interval=COPIED_MS)
    back.timeout.connect(lambda: made.setText(f" {text}"))

    def copy() -> None:
        QGuiApplication.clipboard().setText(plain(content()))
        made.setText(" Copied")
        back.start()

    made.clicked.connect(copy)
    return made


def read_only(name: str) -> QPlainTextEdit:
    """A text in letters of one width, to be read and copied; `name` is for those who cannot see it."""
    made = QPlainTextEdit()
    made.setReadOnly(True)
    made.setFont(mono_font())
    made.setAccessibleName(name)
    return made


def pages(*widgets: QWidget) -> QStackedWidget:
    """One of them is shown, the first to begin with."""
    made = QStackedWidget()
    for widget in widgets:
        made.addWidget(widget)
    return made


def split(*widgets: QWidget, sizes: Sequence[int], upright: bool = False, line: bool = True) -> QSplitter:
    """Widgets beside one another, or below if `upright`, between which the user moves a border, or a fine `line`."""
    made = QSplitter(Qt.Orientation.Vertical if upright else Qt.Orientation.Horizontal)
    for widget in widgets:
        made.addWidget(widget)
    made.setSizes(sizes)
    made.setChildrenCollapsible(False)
    if line:
        made.setHandleWidth(1)
    return made


Part: TypeAlias = QWidget | QLayout | int | tuple[QWidget | QLayout, int]
"""A widget or a layout, with how much it stretches; a number alone is a stretch."""
Margins: TypeAlias = tuple[int, int, int, int]


def column(of: QWidget, *parts: Part, spacing: int | None = 0, margins: Margins | None = (0, 0, 0, 0)) -> QVBoxLayout:
    """The parts of a widget below one another; space between and around them is the style's where it is None."""
    return _filled(QVBoxLayout(of), parts, spacing, margins)


def row(*parts: Part, of: QWidget | None = None, spacing: int = 8, margins: Margins = (0, 0, 0, 0)) -> QHBoxLayout:
    """The parts of a widget, or of a column, in a line."""
    return _filled(QHBoxLayout() if of is None else QHBoxLayout(of), parts, spacing, margins)


def _filled(made: Box, parts: Sequence[Part], spacing: int | None, margins: Margins | None) -> Box:
    if spacing is not None:
        made.setSpacing(spacing)
    if margins is not None:
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
