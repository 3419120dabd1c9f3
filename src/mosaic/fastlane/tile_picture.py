"""The picture under construction and its way to the readers: tiles drawn one by one, published as a whole."""

import contextlib
import math
import socket
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mosaic.fastlane.ring import RingWriter
from mosaic.fastlane.ring_layout import FrameHead, Tile
from mosaic.fastlane.tiling import Grid, fit, fit_smoothly, layout
from mosaic.fastlane.viewer_lease import Demand, Lookout, Mode, Wishes

Picture = NDArray[np.uint8]
SINGLE_WIDTH = 640
"""One environment alone may be this wide, whatever width the tiles of a grid were asked to have."""


class ReaderWakeup:
    """One empty datagram to each reader of a ring, never waited for."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def ring(self, sockets: Iterable[str]) -> None:
        for path in sockets:
            # Gone, never made, or full: then it has unheard news already.
            with contextlib.suppress(OSError):
                self._socket.sendto(b"", path)

    def close(self) -> None:
        self._socket.close()


class TilePicture:
    """Draws into the ring what its readers ask for."""

    def __init__(
        self,
        ring: RingWriter,
        *,
        environments: int,
        grid_limit: int,
        mode: Mode,
        slot: int,
        fps: float,
        budget: float,
        evaluation: bool,
        smooth: bool = False,
    ) -> None:
        """`smooth` costs more: for a process that does not learn."""
        self._ring = ring
        self._lookout = Lookout(ring.path, fps=fps, budget=budget)
        self._wakeup = ReaderWakeup()
        self._environments = environments
        self._limit = min(grid_limit, environments)
        self._mode: Mode = mode
        self._slot = slot
        self._evaluation = evaluation
        self._fit = fit_smoothly if smooth else fit
        self._canvas: _Canvas | None = None
        self._rate = _Rate()

    def look(self) -> Demand | None:
        """What the readers want, complete; None if no viewer is connected or nothing is to be shown."""
        demand = self._lookout.look()
        if demand is not None:
            wishes = demand.wishes
            mode = wishes.mode or self._mode
            asked = self._slot if wishes.slot is None and mode == "single" else wishes.slot
            slot = None if asked is None else min(asked, self._environments - 1)
            demand = None if mode == "off" else replace(demand, wishes=replace(wishes, mode=mode, slot=slot))
        self._ring.say_fps(demand.fps if demand else 0.0)
        return demand

    def shown(self, wishes: Wishes) -> range:
        """The slots that these wishes are about."""
        slot = wishes.slot or 0
        return range(slot, slot + 1) if wishes.mode == "single" else range(self._limit)

    def widest(self, wishes: Wishes) -> int:
        """No tile of these wishes is shown wider than this, if it is square."""
        room = math.isqrt(self._ring.max_pixels // len(self.shown(wishes)))
        return min(_asked_width(wishes), room)

    def draw(self, wishes: Wishes, picture: Picture, tile: Tile) -> None:
        """Put a picture into its tile; a slot that is not shown is left out."""
        slots, canvas = self.shown(wishes), self._canvas
        if tile.env not in slots:
            return
        if canvas is None or not canvas.fits(wishes, tile.env, picture):
            canvas = self._canvas = _Canvas(wishes, tile.env, picture, slots, self._ring.max_pixels)
        canvas.draw(tile.env - slots.start, self._fit(picture, canvas.grid), tile)

    def tile_size(self, wishes: Wishes) -> tuple[int, int] | None:
        """Width and height of a tile; None until a picture was drawn by these wishes."""
        canvas = self._canvas
        return (canvas.grid.tile_width, canvas.grid.tile_height) if canvas and canvas.is_for(wishes) else None

    def put(self, wishes: Wishes, pixels: Picture, tile: Tile) -> None:
        """A tile of that size, as BGRX."""
        slots = self.shown(wishes)
        if self._canvas is not None and tile.env in slots:
            self._canvas.draw(tile.env - slots.start, pixels, tile)

    def publish(self, demand: Demand, *, global_step: int, line: str, about: str = "") -> None:
        canvas = self._canvas
        if canvas is None:
            return
        head = FrameHead(
            global_step=global_step,
            steps_per_s=self._rate.at(global_step),
            columns=canvas.grid.columns,
            rows=canvas.grid.rows,
            tiles=tuple(canvas.tiles),
            grid=demand.wishes.mode == "grid",
            evaluation=self._evaluation,
            line=line,
            about=about if demand.wishes.explain else "",
        )
        self._ring.publish(head, canvas.pixels)
        self._wakeup.ring(demand.sockets)

    def close(self) -> None:
        self._wakeup.close()


class _Canvas:
    """Remade when the viewer or the environment changes its size."""

    def __init__(self, wishes: Wishes, slot: int, picture: Picture, slots: range, max_pixels: int) -> None:
        self._wishes = _relevant(wishes)
        self._slot = slot
        self._shape = picture.shape
        width = _asked_width(wishes)
        self.grid: Grid = layout(len(slots), picture.shape[:2], tile_width=width, max_pixels=max_pixels)
        self.pixels = np.zeros((self.grid.height, self.grid.width, 4), np.uint8)
        self.tiles = [Tile(slot, 0, 0.0) for slot in slots]

    def fits(self, wishes: Wishes, slot: int, picture: Picture) -> bool:
        """Whether this is still the right size: that of the first picture drawn; other slots are scaled to it."""
        changed = slot == self._slot and picture.shape != self._shape
        return self.is_for(wishes) and not changed

    def is_for(self, wishes: Wishes) -> bool:
        return self._wishes == _relevant(wishes)

    def draw(self, index: int, fitted: Picture, tile: Tile) -> None:
        self.pixels[self.grid.place(index)] = fitted
        self.tiles[index] = tile


def _asked_width(wishes: Wishes) -> int:
    return wishes.tile_width if wishes.mode == "grid" else max(wishes.tile_width, SINGLE_WIDTH)


def _relevant(wishes: Wishes) -> tuple[Any, ...]:
    return wishes.mode, wishes.tile_width, wishes.slot if wishes.mode == "single" else None


class _Rate:
    """Steps a second over the last moments."""

    def __init__(self) -> None:
        self._at, self._step, self._value = time.monotonic(), -1, 0.0

    def at(self, step: int) -> float:
        elapsed_s = time.monotonic() - self._at
        if self._step < 0 or elapsed_s > 10:
            self._at, self._step = time.monotonic(), step
        elif elapsed_s >= 1.0:
            self._value = (step - self._step) / elapsed_s
            self._at, self._step = time.monotonic(), step
        return self._value
