"""The picture of a session for its viewers: drawn after a step, at once, because the session does not wait for them."""

import time
from collections.abc import Callable, Sequence

from mosaic.fastlane.ring import RingWriter
from mosaic.fastlane.ring_layout import Tile
from mosaic.fastlane.tile_picture import TilePicture
from mosaic.fastlane.viewer_lease import USUAL_BUDGET, USUAL_FPS, Demand
from mosaic.play.arenas.arena import Arena

LOOK_S = 0.05
"""How often it is asked whether a viewer is connected."""


class SessionPicture:
    """Called between two steps, in the thread of the environment."""

    def __init__(self, arena: Arena, ring: RingWriter, *, line: Callable[[], str]) -> None:
        self._arena = arena
        self._ring = ring
        self._line = line
        self._screen = TilePicture(
            ring,
            environments=len(arena.shown),
            grid_limit=len(arena.shown),
            mode="grid" if len(arena.shown) > 1 else "single",
            slot=0,
            fps=USUAL_FPS,
            budget=USUAL_BUDGET,
            evaluation=False,
            smooth=True,
        )
        self._demand: Demand | None = None
        self._looked_at = 0.0
        self._drawn_at = 0.0
        self._tiles: Sequence[Tile] = [Tile(at, 0, 0.0) for at in range(len(arena.shown))]
        self._step = 0
        self._stale = True

    @property
    def path(self) -> str:
        return str(self._ring.path)

    def show(self, global_step: int, tiles: Sequence[Tile], *, at_once: bool) -> None:
        """A step was made; `at_once` where a viewer waits for it, else no more often than the viewers asked for."""
        self._tiles = tiles
        self._step = global_step
        self._stale = True
        self.refresh(at_once=at_once)

    def refresh(self, *, at_once: bool = False) -> None:
        """Draw what is not drawn yet; cheap without a viewer. Called also while nothing moves."""
        now = time.monotonic()
        if now - self._looked_at >= LOOK_S:
            self._looked_at = now
            before, self._demand = self._demand, self._screen.look()
            # A viewer came, or wants something else: what was drawn before is not theirs.
            self._stale |= self._demand is not None and (before is None or before != self._demand)
        demand = self._demand
        if demand is None or not self._stale:
            return
        if not at_once and now - self._drawn_at < 1 / demand.fps:
            return
        self._stale = False
        for arena, tile in zip(self._arena.shown, self._tiles, strict=True):
            picture = arena.render()
            if picture is None:
                self._ring.note(arena.pictures_problem)
                return
            self._screen.draw(demand.wishes, picture, tile)
        self._drawn_at = now
        self._screen.publish(demand, global_step=self._step, line=self._line())

    def close(self) -> None:
        self._ring.close()
        self._screen.close()
