"""The picture of a session for those who look: drawn after a step, at once, because the session waits for nobody."""

import time
from collections.abc import Callable

from mosaic.fastlane.layout import Tile
from mosaic.fastlane.lease import USUAL_BUDGET, USUAL_FPS, Demand
from mosaic.fastlane.ring import RingWriter
from mosaic.fastlane.screen import Screen
from mosaic.play.arena import Arena

LOOK_S = 0.05
"""How often it is asked whether somebody looks."""


class PlayView:
    """Called between two steps, in the thread of the environment."""

    def __init__(self, arena: Arena, ring: RingWriter, *, line: Callable[[], str]) -> None:
        self._arena = arena
        self._ring = ring
        self._line = line
        self._screen = Screen(
            ring,
            environments=1,
            grid_limit=1,
            mode="single",
            slot=0,
            fps=USUAL_FPS,
            budget=USUAL_BUDGET,
            evaluation=False,
        )
        self._demand: Demand | None = None
        self._looked_at = 0.0
        self._drawn_at = 0.0
        self._tile = Tile(0, 0, 0.0)
        self._step = 0
        self._stale = True

    @property
    def path(self) -> str:
        return str(self._ring.path)

    def show(self, global_step: int, length: int, total: float, *, at_once: bool) -> None:
        """A step was made; `at_once` where somebody waits for it, else no more often than the viewers asked for."""
        self._tile = Tile(0, length, total)
        self._step = global_step
        self._stale = True
        self.refresh(at_once=at_once)

    def refresh(self, *, at_once: bool = False) -> None:
        """Draw what is not drawn yet; cheap while nobody looks. Called now and then while nothing moves too."""
        now = time.monotonic()
        if now - self._looked_at >= LOOK_S:
            self._looked_at = now
            before, self._demand = self._demand, self._screen.look()
            # Somebody came, or wants something else: what was drawn before is not theirs.
            self._stale |= self._demand is not None and (before is None or before != self._demand)
        demand = self._demand
        if demand is None or not self._stale:
            return
        if not at_once and now - self._drawn_at < 1 / demand.fps:
            return
        picture = self._arena.render()
        if picture is None:
            self._ring.note(self._arena.pictures_problem)
            self._stale = False
            return
        self._drawn_at = now
        self._stale = False
        self._screen.draw(demand.wishes, picture, self._tile)
        self._screen.publish(demand, global_step=self._step, line=self._line())

    def close(self) -> None:
        self._ring.close()
        self._screen.close()
