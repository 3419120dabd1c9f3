"""The picture under construction: tiles drawn one by one; remade when the viewer or the environment changes its size."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mosaic.fastlane.layout import Tile
from mosaic.fastlane.lease import Wishes
from mosaic.fastlane.tiling import Grid, fit, layout

Picture = NDArray[np.uint8]
SINGLE_WIDTH = 640
"""One environment alone may be this wide, whatever width the tiles of a grid were asked to have."""


class Canvas:
    def __init__(self, wishes: Wishes, slot: int, picture: Picture, count: int, max_pixels: int) -> None:
        self._wishes = _relevant(wishes, count)
        self._slot = slot
        self._shape = picture.shape
        width = wishes.tile_width if wishes.mode == "grid" else max(wishes.tile_width, SINGLE_WIDTH)
        self.grid: Grid = layout(count, picture.shape[:2], tile_width=width, max_pixels=max_pixels)
        self.pixels = np.zeros((self.grid.height, self.grid.width, 4), np.uint8)
        self.tiles = [Tile(index, 0, 0.0) for index in range(count)]

    def fits(self, wishes: Wishes, slot: int, picture: Picture, count: int) -> bool:
        """Whether this is still the right size: that of the first picture drawn; other slots are scaled to it."""
        changed = slot == self._slot and picture.shape != self._shape
        return self._wishes == _relevant(wishes, count) and not changed

    def draw(self, index: int, picture: Picture, tile: Tile) -> None:
        self.pixels[self.grid.place(index)] = fit(picture, self.grid)
        self.tiles[index] = tile


def _relevant(wishes: Wishes, count: int) -> tuple[Any, ...]:
    return wishes.mode, wishes.tile_width, wishes.slot if wishes.mode == "single" else None, count
