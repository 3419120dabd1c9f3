"""The picture of a session, as large as fits, and the keyboard of the person who plays in it."""

from collections.abc import Callable

from PySide6.QtCore import QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QWidget

from mosaic.gui.models.picture import Picture
from mosaic.gui.models.tiling import fitted
from mosaic.gui.theme import Theme

SETTLE_MS = 200
SMOOTH_FROM = 320
"""Pixels of width from which a picture that is shown larger is smoothed; smaller ones are pixel games."""
MARGIN = 8


class PlayBoard(QWidget):
    """Keys go to the session while it has the focus; those that go down and up by themselves are not repeated."""

    keys_changed = Signal(object)
    """Names of the keys that are down."""
    width_shown = Signal(int)

    def __init__(self, theme: Theme, picture: Callable[[], Picture | None], holds: Callable[[Picture], bool]) -> None:
        super().__init__()
        self._theme, self._picture, self._holds = theme, picture, holds
        self._down: list[str] = []
        self.painted = -1
        """Number of the picture that was painted last."""
        self._settle = QTimer(self, interval=SETTLE_MS, singleShot=True)
        self._settle.timeout.connect(lambda: self.width_shown.emit(int(self.width() * self.devicePixelRatioF())))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName("Picture of the session; keys pressed here play")
        self.setMinimumSize(160, 100)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(480, 360)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        name = key_name(event.key())
        if not name or event.modifiers() & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier):
            super().keyPressEvent(event)
        elif not event.isAutoRepeat() and name not in self._down:
            self._down.append(name)
            self.keys_changed.emit(list(self._down))

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        name = key_name(event.key())
        if not event.isAutoRepeat() and name in self._down:
            self._down.remove(name)
            self.keys_changed.emit(list(self._down))

    def focusNextPrevChild(self, _: bool) -> bool:
        """Tab may be a key of the game; the mouse leads out."""
        return False

    def focusOutEvent(self, event: QFocusEvent) -> None:
        # Its release would be somebody else's: a key must not stay down for ever.
        super().focusOutEvent(event)
        if self._down:
            self._down = []
            self.keys_changed.emit([])
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        self.setFocus()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._settle.start()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(event.rect(), self._theme.colour("panel"))
        picture = self._picture()
        if picture is None:
            return
        room = self.rect().adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
        place: QRect = fitted(picture.image.size(), room)
        smooth = place.width() < picture.image.width() or picture.image.width() >= SMOOTH_FROM
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, smooth)
        painter.drawImage(place, picture.image)
        if self.hasFocus():
            painter.setPen(QPen(self._theme.colour("accent"), 2))
            painter.drawRect(place.adjusted(-2, -2, 1, 1))
        painter.end()
        if self._holds(picture):
            self.painted = picture.number
        else:
            self.update()


def key_name(key: int) -> str:
    """As keyboard maps spell it: "Left", "Space", "A"; empty for a modifier alone."""
    modifiers = (Qt.Key.Key_Control, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr, Qt.Key.Key_unknown)
    return "" if key in modifiers else QKeySequence(key).toString(QKeySequence.SequenceFormat.PortableText)
