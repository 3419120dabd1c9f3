"""A ring around what the keyboard has reached, whatever kind of widget it is; a click takes it away."""

from PySide6.QtCore import QEvent, QObject, QRectF
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFocusFrame, QWidget

from mosaic.gui.theme import Theme

RADIUS, THICKNESS = 6.0, 2.0


class FocusRing(QFocusFrame):
    """Qt moves it with its widget and clips it as the widget is clipped."""

    def __init__(self, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        self._theme = theme
        self._around: QWidget | None = None
        self.hide()
        theme.changed.connect(self.update)

    def show_around(self, widget: QWidget) -> None:
        self.leave()
        self._around = widget
        widget.installEventFilter(self)
        self.setWidget(widget)

    def leave(self) -> None:
        if self._around is not None:
            self._around.removeEventFilter(self)
            self._around = None
            self.setWidget(None)  # pyright: ignore[reportArgumentType] (Qt takes none)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._around and event.type() in (QEvent.Type.FocusOut, QEvent.Type.MouseButtonPress):
            self.leave()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.colour("accent"), THICKNESS))
        inset, around = THICKNESS / 2, self.parentWidget()
        # A list fills its panel to the edge: the ring is drawn inside what can be seen.
        seen = self.geometry().intersected(around.rect()).translated(-self.pos()) if around is not None else self.rect()
        painter.drawRoundedRect(QRectF(seen).adjusted(inset, inset, -inset, -inset), RADIUS, RADIUS)
