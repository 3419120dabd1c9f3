"""What a value is typed into: a line, a switch, a choice, a text; each reports its text and shows what it is told."""

import json
from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QLineEdit,
    QPlainTextEdit,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QWidget,
)

from mosaic.config import JsonValue
from mosaic.gui.assets import keep_icon, pixmap
from mosaic.gui.models.form.schema_fields import Setting, choice_title
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.switch import Switch

LONG_HEIGHT = 72
MOST_CHARACTERS = 1_000_000
"""Qt's own limit is 32,767, and it cuts off what is pasted beyond it."""
CHEVRON = 14

Typed = Callable[[str], None]
"""Receives each text that a person makes."""


class Editor(Protocol):
    """A widget that shows a text."""

    def show_text(self, text: str) -> None: ...


class LineEditor(QLineEdit):
    """Numbers stand at the right; a secret is not shown."""

    def __init__(self, setting: Setting, typed: Typed) -> None:
        super().__init__()
        self._setting, self._typed = setting, typed
        self.setMaxLength(MOST_CHARACTERS)
        if setting.kind in ("number", "integer"):
            self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        if setting.kind == "secret":
            self.setEchoMode(QLineEdit.EchoMode.Password)
        self.setPlaceholderText(setting.example or ("none" if setting.is_optional else ""))
        self.textEdited.connect(typed)
        self.editingFinished.connect(self._tidy)

    def show_text(self, text: str) -> None:
        if text != self.text():
            self.setText(text)
            self.setCursorPosition(0)

    def _tidy(self) -> None:
        """10M is shown as 10,000,000 once it is typed."""
        try:
            value = self._setting.parse(self.text())
        except ValueError:
            return
        if self._setting.kind in ("number", "integer"):
            self._typed(self._setting.show(value))


class FileEditor(LineEditor):
    """A line that may name a file, which a button in it chooses."""

    def __init__(self, theme: Theme, setting: Setting, typed: Typed) -> None:
        super().__init__(setting, typed)
        self.browse = QAction("Choose a file", self)
        keep_icon(theme, "folder-open", self.browse.setIcon)
        self.addAction(self.browse, QLineEdit.ActionPosition.TrailingPosition)
        self.browse.triggered.connect(lambda _=False: self._browse())

    def _browse(self) -> None:
        ending = self._setting.file_ending
        dialog = QFileDialog(self, "Choose a file", "", f"*{ending} (*{ending});;All files (*)")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._take)
        dialog.open()

    def _take(self, path: str) -> None:
        self.setText(path)
        self._typed(path)


class LongEditor(QPlainTextEdit):
    """Several lines."""

    def __init__(self, typed: Typed) -> None:
        super().__init__()
        self.setProperty("entry", True)
        self.setFixedHeight(LONG_HEIGHT)
        self.setTabChangesFocus(True)
        self.textChanged.connect(lambda: typed(self.toPlainText()))

    def show_text(self, text: str) -> None:
        if text != self.toPlainText():
            self.setPlainText(text)


class SwitchEditor(Switch):
    """On or off."""

    def __init__(self, theme: Theme, typed: Typed) -> None:
        super().__init__(theme)
        self._typed = typed
        self.toggled.connect(self._toggled)

    def show_text(self, text: str) -> None:
        self.blockSignals(True)
        self.setChecked(text == "true")
        self.blockSignals(False)

    def _toggled(self, on: bool) -> None:
        self._typed(json.dumps(on))


class Choice(QComboBox):
    """A list to choose from. The wheel scrolls the form around it, and does not change the value on its way."""

    closed = Signal()
    """The list is no longer open."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(6)
        self.view().setTextElideMode(Qt.TextElideMode.ElideRight)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def hidePopup(self) -> None:
        super().hidePopup()
        self.closed.emit()

    @property
    def is_open(self) -> bool:
        return self.view().isVisible()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        room = self.rect().adjusted(9, 0, -CHEVRON - 14, 0)
        painter.setPen(self.palette().color(self.foregroundRole()))
        text = self.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, text)
        x, y = self.width() - CHEVRON - 8, (self.height() - CHEVRON) // 2
        painter.drawPixmap(x, y, pixmap(self.theme, "chevron-down", "muted", CHEVRON))


class ChoiceEditor(Choice):
    """The choices of a setting."""

    def __init__(self, theme: Theme, setting: Setting, typed: Typed) -> None:
        super().__init__(theme)
        self._setting, self._typed = setting, typed
        self._values: list[JsonValue] = [*([None] if setting.is_optional else []), *setting.choices]
        self.addItems([choice_title(value) for value in self._values])
        self.activated.connect(self._chosen)

    def show_text(self, text: str) -> None:
        try:
            self.setCurrentIndex(self._values.index(self._setting.parse(text)))
        except ValueError:
            # What is not a choice is shown as none of them; the problem stands below.
            self.setCurrentIndex(-1)

    def _chosen(self, index: int) -> None:
        self._typed(self._setting.show(self._values[index]))


def make_editor(setting: Setting, theme: Theme, typed: Typed) -> tuple[QWidget, Editor]:
    """The widget for a kind of setting, once as what it is and once as what it can do."""
    match setting.kind:
        case "switch":
            made = SwitchEditor(theme, typed)
        case "choice":
            made = ChoiceEditor(theme, setting, typed)
        case _ if setting.file_ending:
            made = FileEditor(theme, setting, typed)
        case _:
            made = LongEditor(typed) if setting.is_long else LineEditor(setting, typed)
    return made, made
