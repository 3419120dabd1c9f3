"""A picture of environments as the window paints it: pixels, in the ring or of its own, and what belongs to them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage

from mosaic.fastlane.ring_layout import FrameHead

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Picture:
    """`image` lies on `pixels`, (height, width, 4) BGRX, and lives no longer than they do."""

    number: int
    head: FrameHead
    pixels: Pixels
    image: QImage

    @classmethod
    def of(cls, number: int, head: FrameHead, pixels: Pixels) -> "Picture":
        height, width = pixels.shape[:2]
        image = QImage(pixels.reshape(-1).data, width, height, 4 * width, QImage.Format.Format_RGB32)
        return cls(number, head, pixels, image)

    def copied(self) -> "Picture":
        return Picture.of(self.number, self.head, self.pixels.copy())

    def place(self, index: int) -> QRect:
        """Where a tile lies in the image."""
        width, height = self.tile_size
        row, column = divmod(index, max(self.head.columns, 1))
        return QRect(column * width, row * height, width, height)

    @property
    def tile_size(self) -> tuple[int, int]:
        return self.image.width() // max(self.head.columns, 1), self.image.height() // max(self.head.rows, 1)
