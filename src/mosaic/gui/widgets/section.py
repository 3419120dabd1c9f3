"""A section of the form: a heading that opens and closes it, and its lines, made when they are first seen."""

from collections.abc import Callable

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QVBoxLayout, QWidget

from mosaic.gui.assets import pixmap
from mosaic.gui.theme import Theme

CHEVRON = 14


class Heading(QAbstractButton):
    """Title in small capitals, how much of it was changed, and a chevron."""

    def __init__(self, theme: Theme, title: str) -> None:
        super().__init__()
        self._theme = theme
        self._badge, self._tone = "", "accent"
        self.setText(title)
        self.setCheckable(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(title)
        font = QFont(self.font())
        font.setPixelSize(11)
        font.setWeight(QFont.Weight.DemiBold)
        font.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, 0.8)
        self.setFont(font)

    def show_badge(self, text: str, tone: str) -> None:
        if (text, tone) != (self._badge, self._tone):
            self._badge, self._tone = text, tone
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance(self.text().upper()) + 120, 22)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        place, middle = self.rect(), Qt.AlignmentFlag.AlignVCenter
        painter.setPen(self._theme.colour("accent" if self.hasFocus() else "muted"))
        painter.drawText(place, middle | Qt.AlignmentFlag.AlignLeft, self.text().upper())
        icon = "chevron-down" if self.isChecked() else "chevron-right"
        painter.drawPixmap(
            place.width() - CHEVRON, (place.height() - CHEVRON) // 2, pixmap(self._theme, icon, "faint", CHEVRON)
        )
        if self._badge:
            painter.setPen(self._theme.colour(self._tone))
            room = QRect(place.left(), place.top(), place.width() - CHEVRON - 6, place.height())
            painter.drawText(room, middle | Qt.AlignmentFlag.AlignRight, self._badge)


class SectionView(QWidget):
    """`make` fills the body when the section is first open."""

    def __init__(self, theme: Theme, title: str, *, make: Callable[[QVBoxLayout], None]) -> None:
        super().__init__()
        self.heading = Heading(theme, title)
        self._make: Callable[[QVBoxLayout], None] | None = make
        self._body = QWidget()
        self._lines = QVBoxLayout(self._body)
        self._lines.setContentsMargins(0, 2, 0, 6)
        self._lines.setSpacing(8)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self.heading)
        layout.addWidget(self._body)
        self._body.hide()
        self.heading.toggled.connect(self._open)

    @property
    def is_open(self) -> bool:
        return self.heading.isChecked()

    def open(self) -> None:
        self.heading.setChecked(True)

    def _open(self, is_open: bool) -> None:
        if is_open and self._make is not None:
            make, self._make = self._make, None
            make(self._lines)
        self._body.setVisible(is_open)
