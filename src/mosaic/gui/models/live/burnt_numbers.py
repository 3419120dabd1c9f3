"""The numbers of the live view drawn into a picture that is kept: name and return of each tile, and the step below."""

import math

import numpy as np
from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter

from mosaic.gui.models.live.picture import Picture

FONT = "JetBrains Mono"
SMALLEST, LARGEST = 9, 22
"""Pixels of the letters."""
SHARE = 18
"""Of a tile's height."""
BACK, NAME, RETURN = QColor(7, 9, 12, 200), QColor("#e6e9ef"), QColor("#3ecf9a")


def with_numbers(picture: Picture, label: str) -> Picture:
    """A copy with the numbers in it; the step and the run in a line of their own below, so that they hide nothing."""
    width, height = picture.image.width(), picture.image.height()
    _, tile_height = picture.tile_size
    size = min(max(tile_height // SHARE, SMALLEST), LARGEST)
    # Films have whole pairs of rows.
    bar = 2 * size + (2 * size + height) % 2
    pixels = np.zeros((height + bar, width, 4), np.uint8)
    made = Picture.of(picture.number, picture.head, pixels)
    painter = QPainter(made.image)
    painter.drawImage(0, 0, picture.image)
    font = QFont(FONT)
    font.setPixelSize(size)
    painter.setFont(font)
    for place, tile in enumerate(picture.head.tiles):
        where = picture.place(place)
        _pill(painter, where, f"env {tile.env}", NAME, at_right=False)
        if tile.episode_length:
            said = f"R {tile.episode_return:,.1f}" if math.isfinite(tile.episode_return) else str(tile.episode_return)
            _pill(painter, where, said, RETURN, at_right=True)
    painter.fillRect(QRect(0, height, width, bar), QColor(BACK.red(), BACK.green(), BACK.blue()))
    painter.setPen(NAME)
    line = " · ".join(filter(None, (f"step {picture.head.global_step:,}", label, picture.head.line)))
    room = QRect(size // 2, height, width - size, bar)
    shown = painter.fontMetrics().elidedText(line, Qt.TextElideMode.ElideRight, room.width())
    painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
    painter.end()
    return made


def _pill(painter: QPainter, tile: QRect, text: str, colour: QColor, *, at_right: bool) -> None:
    metrics = painter.fontMetrics()
    width, height = metrics.horizontalAdvance(text) + metrics.height() // 2, metrics.height() + 2
    if width > tile.width() // 2:
        return
    left = tile.right() - width - 2 if at_right else tile.left() + 3
    place = QRectF(left, tile.bottom() - height - 2, width, height)
    painter.fillRect(place, BACK)
    painter.setPen(colour)
    painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)
