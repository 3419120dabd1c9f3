"""The grid of live environments: one widget, one paint event, pictures drawn from where they lie without a copy."""

import math
from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QWidget

from mosaic.fastlane.ring_layout import Tile
from mosaic.gui.assets import text_font
from mosaic.gui.models.live.card_layout import arranged, fitted
from mosaic.gui.models.live.picture import Picture
from mosaic.gui.theme import Theme

MARGIN = 12
RADIUS = 7
LABEL_HEIGHT = 19
BEHIND = QColor("#07090c")
"""Of a card, in dark and light alike: pictures stand on black as on a screen."""
PILL = QColor(7, 9, 12, 178)
NAME, RETURN = QColor("#e6e9ef"), QColor("#3ecf9a")
EXACT = 0.93
"""A picture that fills this much of its card is drawn pixel by pixel instead of scaled."""
SMOOTH_FROM = 320
"""Pixels of width from which a picture that is shown larger is smoothed."""
SPARE = 8
"""Device pixels: what is left of a card beside a picture that nearly fills it is left away."""
SETTLE_MS = 200
POINT_MS = 120
"""A pointer that passes over tiles asks for none of them."""
GUESSED_TILES, GUESSED_ASPECT = 8, 1.5
"""Before the first picture: a good guess spares the worker to begin it anew at another size."""


class LiveGrid(QWidget):
    """Asks for the picture when it paints; says which tile was chosen and how wide tiles are shown."""

    chosen = Signal(int)
    """Show this environment alone."""
    left = Signal()
    """Back to the grid."""
    pointed = Signal(object)
    """The environment of the tile under the pointer, or that the keys have marked; None if there is none."""
    pause_asked = Signal()
    step_asked = Signal()
    explain_asked = Signal()
    width_shown = Signal(int)
    """Device pixels of a tile's width, after the widget has settled."""

    def __init__(self, theme: Theme, picture: Callable[[], Picture | None], holds: Callable[[Picture], bool]) -> None:
        super().__init__()
        self._theme, self._picture, self._holds = theme, picture, holds
        self._cards: list[QRect] = []
        self._tiles: tuple[Tile, ...] = ()
        self._is_grid = True
        self._shape: tuple[int, float] = (0, GUESSED_ASPECT)
        self._marked = -1
        self._aside = 0
        self._told_width = 0
        self._font = text_font()
        self._font.setPixelSize(11)
        self._font.setWeight(QFont.Weight.DemiBold)
        self._metrics = QFontMetrics(self._font)
        self._corners: list[QPixmap] = []
        self._settle = QTimer(self, interval=SETTLE_MS, singleShot=True)
        self._settle.timeout.connect(self._tell_width)
        self._point = QTimer(self, interval=POINT_MS, singleShot=True)
        self._point.timeout.connect(self._tell_pointed)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Live view")
        self.setMinimumSize(160, 100)
        theme.changed.connect(self._restyle)

    def sizeHint(self) -> QSize:
        return QSize(640, 400)

    @property
    def cards(self) -> Sequence[QRect]:
        """Where the tiles are shown."""
        return self._cards

    @property
    def _inside(self) -> QRect:
        return self.rect().adjusted(MARGIN, 0, -MARGIN - self._aside, -MARGIN)

    def leave_room(self, width: int) -> None:
        """At the right, for what is shown beside the tiles; none where that would take most of a narrow view."""
        aside = width if 2 * width < self.width() else 0
        if aside != self._aside:
            self._aside = aside
            self._shape = (0, self._shape[1])
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(event.rect(), self._theme.colour("panel"))
        picture = self._picture()
        if picture is None:
            return
        self._arrange(picture)
        painter.setFont(self._font)
        for index, (card, tile) in enumerate(zip(self._cards, self._tiles, strict=True)):
            self._paint_tile(painter, card, picture, index, tile)
        painter.end()
        if not self._holds(picture):
            self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._shape = (0, self._shape[1])
        self._settle.start()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._mark(self._at(event.position().toPoint()))

    def leaveEvent(self, event: object) -> None:  # noqa: ARG002
        self._mark(-1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self._at(event.position().toPoint())
        if event.button() != Qt.MouseButton.LeftButton or index < 0:
            return
        if self._is_grid and len(self._tiles) > 1:
            self.chosen.emit(self._tiles[index].env)
        else:
            self.left.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, step = Qt.Key(event.key()), self._step(Qt.Key(event.key()))
        if step and not self._is_grid and self._tiles:
            self.chosen.emit(max(self._tiles[0].env + (1 if step > 0 else -1), 0))
        elif step and self._tiles:
            self._mark(min(max(self._marked + step, 0), len(self._tiles) - 1))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and 0 <= self._marked < len(self._tiles):
            if self._is_grid:
                self.chosen.emit(self._tiles[self._marked].env)
        elif key == Qt.Key.Key_Escape and not self._is_grid:
            self.left.emit()
        elif key == Qt.Key.Key_P and not event.modifiers():
            self.pause_asked.emit()
        elif key == Qt.Key.Key_N and not event.modifiers():
            self.step_asked.emit()
        elif key == Qt.Key.Key_E and not event.modifiers():
            self.explain_asked.emit()
        else:
            super().keyPressEvent(event)

    def _step(self, key: Qt.Key) -> int:
        count = len(self._cards)
        columns = sum(card.top() == self._cards[0].top() for card in self._cards)
        steps = {
            Qt.Key.Key_Left: -1,
            Qt.Key.Key_Right: 1,
            Qt.Key.Key_Up: -columns,
            Qt.Key.Key_Down: columns,
            Qt.Key.Key_Home: -count,
            Qt.Key.Key_End: count,
        }
        return steps.get(key, 0)

    def _at(self, point: QPoint) -> int:
        return next((index for index, card in enumerate(self._cards) if card.contains(point)), -1)

    def _mark(self, index: int) -> None:
        if index != self._marked:
            self._marked = index
            self.setCursor(Qt.CursorShape.PointingHandCursor if index >= 0 else Qt.CursorShape.ArrowCursor)
            self._point.start()
            self.update()

    def _tell_pointed(self) -> None:
        is_one = self._is_grid and 0 <= self._marked < len(self._tiles)
        self.pointed.emit(self._tiles[self._marked].env if is_one else None)

    def _arrange(self, picture: Picture) -> None:
        """Remember what is where; new cards only when the number, the shape or the widget's size has changed."""
        width, height = picture.tile_size
        self._tiles, self._is_grid = picture.head.tiles, picture.head.grid
        shape = (len(self._tiles), width / max(height, 1))
        if shape != self._shape:
            self._shape = shape
            self._cards = arranged(len(self._tiles), self._inside, shape[1])
            self._settle.start()

    def _tell_width(self) -> None:
        """What the tiles of this picture, or of the next one, are best asked for at."""
        aspect = self._shape[1]
        card = (self._cards or arranged(GUESSED_TILES, self._inside, aspect))[0]
        shown = int(min(card.width(), card.height() * aspect) * self.devicePixelRatioF())
        # A tile's aspect is rounded to pixels: without some slack two sizes could take turns for ever.
        if shown < self._told_width or shown > 1.03 * self._told_width + 3:
            self._told_width = shown
            self.width_shown.emit(shown)

    def _paint_tile(self, painter: QPainter, card: QRect, picture: Picture, index: int, tile: Tile) -> None:
        ratio, source = self.devicePixelRatioF(), picture.place(index)
        place = QRect((QPointF(card.topLeft()) * ratio).toPoint(), card.size() * ratio)
        target = _target(source, place)
        spare = place.size() - target.size()
        if max(spare.width(), spare.height()) > SPARE:
            painter.fillRect(card, BEHIND)
        else:
            card = QRectF(QPointF(target.topLeft()) / ratio, target.size().toSizeF() / ratio).toAlignedRect()
        self._paint_picture(painter, target, picture, source, ratio)
        for corner, at in zip(self._corner_pixmaps(ratio), _corner_places(card), strict=True):
            painter.drawPixmap(at, corner)
        self._label(painter, card, f"env {tile.env}", NAME, right=False)
        if tile.episode_length:
            self._label(painter, card, f"R {_return(tile.episode_return)}", RETURN, right=True)
        self._frame(painter, card, marked=index == self._marked)

    def _paint_picture(self, painter: QPainter, target: QRect, picture: Picture, source: QRect, ratio: float) -> None:
        """In device pixels, so that a tile that comes at the size of its card is copied and not scaled."""
        # Small pictures are pixel games, and stay sharp when they grow.
        smooth = target.width() < source.width() or (target.width() > source.width() >= SMOOTH_FROM)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, smooth)
        if ratio == 1.0:
            painter.drawImage(target, picture.image, source)
            return
        painter.save()
        painter.scale(1 / ratio, 1 / ratio)
        painter.drawImage(target, picture.image, source)
        painter.restore()

    def _frame(self, painter: QPainter, card: QRect, *, marked: bool) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.colour("accent" if marked else "line"), 2 if marked else 1))
        inset = 1.0 if marked else 0.5
        painter.drawRoundedRect(QRectF(card).adjusted(inset, inset, -inset, -inset), RADIUS, RADIUS)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _label(self, painter: QPainter, card: QRect, text: str, colour: QColor, *, right: bool) -> None:
        width = self._metrics.horizontalAdvance(text) + 12
        if width > card.width() // 2 - 6:
            return
        x = card.right() - width - 5 if right else card.left() + 6
        place = QRect(x, card.bottom() - LABEL_HEIGHT - 5, width, LABEL_HEIGHT)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(PILL)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.drawRoundedRect(place, 5, 5)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(colour)
        painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)

    def _restyle(self) -> None:
        self._corners = []
        self.update()

    def _corner_pixmaps(self, ratio: float) -> list[QPixmap]:
        """What lies outside the round corners, in the colour behind the cards: cheaper than a round clip."""
        if not self._corners or self._corners[0].devicePixelRatio() != ratio:
            self._corners = []
            for x, y in ((0, 0), (1, 0), (0, 1), (1, 1)):
                corner = QPixmap(QSize(RADIUS, RADIUS) * ratio)
                corner.setDevicePixelRatio(ratio)
                corner.fill(Qt.GlobalColor.transparent)
                outside, inside = QPainterPath(), QPainterPath()
                outside.addRect(0, 0, RADIUS, RADIUS)
                inside.addEllipse(QPointF(RADIUS * (1 - x), RADIUS * (1 - y)), RADIUS, RADIUS)
                painter = QPainter(corner)
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.fillPath(outside.subtracted(inside), self._theme.colour("panel"))
                painter.end()
                self._corners.append(corner)
        return self._corners


def _target(source: QRect, place: QRect) -> QRect:
    """Where a picture is drawn: as large as fits, or as it is where that is nearly as large."""
    target = fitted(source.size(), place)
    room = place.size() - source.size()
    if room.width() >= 0 and room.height() >= 0 and source.width() >= EXACT * target.width():
        return QRect(place.topLeft() + QPoint(room.width() // 2, room.height() // 2), source.size())
    return target


def _corner_places(card: QRect) -> tuple[QPoint, QPoint, QPoint, QPoint]:
    right, bottom = card.right() - RADIUS + 1, card.bottom() - RADIUS + 1
    return (
        card.topLeft(),
        QPoint(right, card.top()),
        QPoint(card.left(), bottom),
        QPoint(right, bottom),
    )


def _return(value: float) -> str:
    if not math.isfinite(value):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.1f}"
