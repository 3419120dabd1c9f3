"""The picture of a session, as large as fits, and the keyboard of the person who plays in it."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QWidget

from mosaic.gui.assets import text_font
from mosaic.gui.models.live.card_layout import arranged, fitted
from mosaic.gui.models.live.picture import Picture
from mosaic.gui.theme import Theme

SETTLE_MS = 200
SMOOTH_FROM = 320
"""Pixels of width from which a picture that is shown larger is smoothed; smaller ones are pixel games."""
MARGIN = 8
CAPTION = 24


class PlayPicture(QWidget):
    """Keys go to the session while it has the focus; those that go down and up by themselves are not repeated."""

    keys_changed = Signal(object)
    """Names of the keys that are down."""
    width_shown = Signal(int)
    """Device pixels of the width of a picture."""
    touched = Signal(int)
    """The action that a click into the picture means."""

    def __init__(self, theme: Theme, picture: Callable[[], Picture | None], holds: Callable[[Picture], bool]) -> None:
        super().__init__()
        self._theme, self._picture, self._holds = theme, picture, holds
        self._down: list[str] = []
        self.painted = -1
        """Number of the picture that was painted last."""
        self.captions: Sequence[tuple[str, str]] = ()
        """What stands below each picture, left and right, where there are several."""
        self.touch: Sequence[Sequence[int]] | None = None
        """Actions of equal places over the picture, where a click means one."""
        self._places: list[QRect] = []
        self._aside = 0
        self._font = text_font()
        self._font.setPixelSize(12)
        self._settle = QTimer(self, interval=SETTLE_MS, singleShot=True)
        self._settle.timeout.connect(self._tell_width)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName("Picture of the session; keys pressed here play")
        self.setMinimumSize(160, 100)
        theme.changed.connect(self.update)

    @property
    def picture_place(self) -> QRect:
        """Where the picture was painted last, or the first of several."""
        return self._places[0] if self._places else QRect()

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
        # Another widget would get its release: a key must not stay down for ever.
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
        had_focus = self.hasFocus()
        self.setFocus()
        if had_focus and event.button() == Qt.MouseButton.LeftButton:
            action = self._touched(event.position().toPoint())
            if action is not None:
                self.touched.emit(action)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._settle.start()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(event.rect(), self._theme.colour("panel"))
        picture = self._picture()
        if picture is None:
            return
        if len(picture.head.tiles) > 1:
            self._paint_beside(painter, picture)
        else:
            self._paint_one(painter, picture)
        painter.end()
        if self._holds(picture):
            self.painted = picture.number
        else:
            self.update()

    def _paint_one(self, painter: QPainter, picture: Picture) -> None:
        place = fitted(picture.image.size(), self._room)
        self._places = [place]
        self._paint_picture(painter, place, picture, picture.image.rect())
        if self.hasFocus():
            painter.setPen(QPen(self._theme.colour("accent"), 2))
            painter.drawRect(place.adjusted(-2, -2, 1, 1))

    def _paint_beside(self, painter: QPainter, picture: Picture) -> None:
        """Copies in lock-step, each with its caption below."""
        width, height = picture.tile_size
        shown = len(self._places)
        self._places = []
        painter.setFont(self._font)
        # A caption is as if the picture were so much higher.
        aspect = width / max(height * (1 + CAPTION / max(self._room.height(), 1)), 1)
        for at, card in enumerate(arranged(len(picture.head.tiles), self._room, aspect)):
            place = fitted(QSize(width, height), card.adjusted(0, 0, 0, -CAPTION))
            self._places.append(place)
            self._paint_picture(painter, place, picture, picture.place(at))
            below = QRect(place.left(), place.bottom() + 1, place.width(), CAPTION)
            left, right = self.captions[at] if at < len(self.captions) else ("", "")
            painter.setPen(self._theme.colour("muted"))
            painter.drawText(below, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, right)
            room = below.width() - painter.fontMetrics().horizontalAdvance(right) - 12
            painter.setPen(self._theme.colour("text"))
            # Who acts stands on the card too: the name of the copy alone is better than half of both.
            text = left if painter.fontMetrics().horizontalAdvance(left) <= room else left.partition("  ")[0]
            painter.drawText(below, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)
        if shown != len(self._places):
            self._settle.start()

    def _paint_picture(self, painter: QPainter, place: QRect, picture: Picture, source: QRect) -> None:
        smooth = place.width() < source.width() or source.width() >= SMOOTH_FROM
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, smooth)
        painter.drawImage(place, picture.image, source)
        # A white picture on white would have no end.
        painter.setPen(self._theme.colour("line"))
        painter.drawRect(place.adjusted(0, 0, -1, -1))

    @property
    def _room(self) -> QRect:
        return self.rect().adjusted(MARGIN, MARGIN, -MARGIN - self._aside, -MARGIN)

    def leave_room(self, width: int) -> None:
        """At the right, for what is shown beside the picture; none where that would take most of a narrow one."""
        aside = width if 2 * width < self.width() else 0
        if aside != self._aside:
            self._aside = aside
            self.update()

    def _tell_width(self) -> None:
        several = len(self._places) > 1
        self.width_shown.emit(int((self._places[0] if several else self.rect()).width() * self.devicePixelRatioF()))

    def _touched(self, at: QPoint) -> int | None:
        if not self.touch or len(self._places) != 1 or not self._places[0].contains(at):
            return None
        place = self._places[0]
        cells = self.touch[(at.y() - place.top()) * len(self.touch) // place.height()]
        return cells[(at.x() - place.left()) * len(cells) // place.width()]


def key_name(key: int) -> str:
    """As keyboard maps spell it: "Left", "Space", "A"; empty for a modifier alone."""
    modifiers = (Qt.Key.Key_Control, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr, Qt.Key.Key_unknown)
    return "" if key in modifiers else QKeySequence(key).toString(QKeySequence.SequenceFormat.PortableText)
