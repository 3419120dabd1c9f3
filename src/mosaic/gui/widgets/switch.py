"""A switch: on or off. Painted here, because superqt's takes most of a second to import."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton

from mosaic.gui.theme import Theme

WIDTH, HEIGHT, KNOB = 28, 16, 5.5
"""Pixels of the groove, and the radius of the knob in it."""


class Switch(QAbstractButton):
    """Space or a click turns it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setCheckable(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFixedSize(QSize(WIDTH + 4, HEIGHT + 4))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        groove = QRectF(2, 2, WIDTH, HEIGHT)
        painter.setPen(self._theme.colour("accent") if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.colour("accent" if self.isChecked() else "faint"))
        painter.drawRoundedRect(groove.adjusted(0.5, 0.5, -0.5, -0.5), HEIGHT / 2, HEIGHT / 2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor("#ffffff"))
        x = groove.right() - HEIGHT / 2 if self.isChecked() else groove.left() + HEIGHT / 2
        painter.drawEllipse(QPointF(x, groove.center().y()), KNOB, KNOB)
