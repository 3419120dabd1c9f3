"""A line of the form: title, mark of a changed value, editor, and below it what is wrong or worth knowing."""

from collections.abc import Callable

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QEnterEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QGridLayout, QLabel, QWidget

from mosaic.gui.assets import pixmap
from mosaic.gui.models.form.form_field import Field
from mosaic.gui.models.form.schema_fields import Setting
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import PlainLabel, label, restyle
from mosaic.gui.widgets.value_editors import Editor

EDITOR_WIDTH = 144
LONG_TITLE = 18
"""Characters from which on a title may need two lines."""
MARK = 18


class FieldRow(QWidget):
    """Shows a field; wide ones have their editor below the title."""

    def __init__(self, field: Field, theme: Theme, editor: tuple[QWidget, Editor], reset: Callable[[], None]) -> None:
        super().__init__()
        setting = field.setting
        self.setting = setting
        self.editor, self._shown = editor
        self._below: QLabel | None = None
        is_wide = self.editor.property("wide") is True or setting.is_long
        title = label(setting.title, "muted")
        title.setToolTip(tip(help_of(setting)))
        title.setWordWrap(len(setting.title) > LONG_TITLE)
        self._mark = ChangedMark(theme, reset)
        self.editor.setAccessibleName(setting.title)
        self.editor.setToolTip(tip(help_of(setting)))
        self.editor.setProperty("path", setting.path)
        self._layout = layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setHorizontalSpacing(4)
        layout.setVerticalSpacing(4)
        layout.setColumnStretch(0, 1)
        layout.addWidget(title, 0, 0)
        layout.addWidget(self._mark, 0, 1)
        if is_wide:
            layout.addWidget(self.editor, 1, 0, 1, 3)
        elif setting.kind == "switch":
            layout.addWidget(self.editor, 0, 2, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            layout.setRowMinimumHeight(0, 26)
        else:
            self.editor.setFixedWidth(EDITOR_WIDTH)
            layout.addWidget(self.editor, 0, 2)
        self.refresh(field)

    def refresh(self, field: Field) -> None:
        self._shown.show_text(field.text)
        self._mark.show_change(field)
        is_broken = bool(field.problem)
        restyle(self.editor, "broken", is_broken)
        self._say(field.problem or field.hint, "bad" if is_broken else "warn")

    def hide_mark(self) -> None:
        """For a field that has no default to go back to."""
        self._mark.hide()

    def hide_problem(self) -> None:
        """For a field that is filled in by another choice, before that is made."""
        restyle(self.editor, "broken", False)
        self._say("", "ok")

    @property
    def said(self) -> str:
        """What stands below the editor."""
        return self._below.text() if self._below is not None and not self._below.isHidden() else ""

    def _say(self, text: str, tone: str) -> None:
        if self._below is None:
            if not text:
                return
            self._below = PlainLabel()
            self._below.setWordWrap(True)
            self._below.setTextFormat(Qt.TextFormat.PlainText)
            self._below.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self._layout.addWidget(self._below, 2, 0, 1, 3)
        restyle(self._below, "said", tone)
        self._below.setText(text)
        self._below.setVisible(bool(text))


class ChangedMark(QAbstractButton):
    """A dot beside a value that is not the default; a click brings the default back."""

    def __init__(self, theme: Theme, reset: Callable[[], None]) -> None:
        super().__init__()
        self._theme = theme
        self._is_over = False
        self.setFixedSize(QSize(MARK, MARK))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName("Reset")
        # Its room is kept while it is not there, so that nothing moves when it comes.
        policy = self.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.setSizePolicy(policy)
        self.clicked.connect(lambda _=False: reset())

    def show_change(self, field: Field) -> None:
        self.setVisible(field.is_changed)
        default = field.setting.show(field.setting.default)
        self.setToolTip(tip(f"Changed from {default or 'empty'}. Click to reset."))

    def enterEvent(self, event: QEnterEvent) -> None:
        self._is_over = True
        self.update()
        super().enterEvent(event)

    def leaveEvent(self, event: object) -> None:  # noqa: ARG002
        self._is_over = False
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._is_over:
            painter.drawPixmap((MARK - 13) // 2, (MARK - 13) // 2, pixmap(self._theme, "rotate-ccw", "accent", 13))
            return
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.colour("accent"))
        painter.drawEllipse(QPointF(MARK / 2, MARK / 2), 2.5, 2.5)


def help_of(setting: Setting) -> str:
    """What a tool tip says: help, default and bounds, name."""
    default = setting.show(setting.default) or "none"
    facts = [f"Default {default}" if setting.kind != "secret" else "", setting.bounds]
    return "\n".join(part for part in (setting.doc, " · ".join(filter(None, facts)), setting.flag) if part)
