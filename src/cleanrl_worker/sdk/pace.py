"""How often the live view may take a picture: what the last ones cost, held against the budget."""

import time
from collections.abc import Callable

from mosaic.fastlane.lease import Wishes

SMOOTHING = 0.2
FIRST_PAUSE_FACTOR, FIRST_PAUSE_S = 20, 1.0
"""After a slot's first picture, which opens windows and contexts and is no measure of the others: so many times its
cost, but at most so long."""
BESIDE_SHARE = 0.15
"""Of the time for drawing beside the learner, where there is another core. Not more, because each of the dozen calls
that draw a picture takes the interpreter away from the learner for a moment."""


class Pace:
    """The learner's time is what the budget is about; drawing a copy beside it is held back by a share of its own."""

    def __init__(self, *, cores: int, quick: bool) -> None:
        self._beside = quick and cores > 1
        self._learner, self._view = _Cost(), _Cost()
        self._last_end = 0.0
        self._not_before = 0.0

    def learner_paid(self, slot: int, seconds: float) -> None:
        """The learner waited so long for a picture of a slot to be taken."""
        if self._learner.is_first(slot, seconds):
            self._not_before = time.monotonic() + min(seconds * FIRST_PAUSE_FACTOR, FIRST_PAUSE_S)

    def view_paid(self, slot: int, seconds: float) -> None:
        """The view's thread took so long to draw and publish it."""
        self._view.is_first(slot, seconds)
        self._last_end = time.monotonic()

    def wait_s(self, now: float, wishes: Wishes, tiles: int) -> float:
        """Until the next picture is due."""
        learner_s, view_s = self._learner.mean_s, self._view.mean_s
        if self._beside:
            pause_s = max(learner_s / wishes.budget, view_s * (1 / BESIDE_SHARE - 1))
        else:
            # Fitting and publishing hold the interpreter, so they count as the learner's time too.
            pause_s = (learner_s + view_s) * (1 / wishes.budget - 1)
        due = self._last_end + max(pause_s, 1 / (wishes.fps * tiles) - view_s)
        return max(due, self._not_before) - now


class _Cost:
    """The mean over the last pictures, without the first one of each slot."""

    def __init__(self) -> None:
        self.mean_s = 0.0
        self._seen: set[int] = set()

    def is_first(self, slot: int, seconds: float) -> bool:
        if slot not in self._seen:
            self._seen.add(slot)
            return True
        self.mean_s = self.mean_s + SMOOTHING * (seconds - self.mean_s) if self.mean_s else seconds
        return False


class Rate:
    """Steps a second over the last moments."""

    def __init__(self, global_step: Callable[[], int]) -> None:
        self._global_step = global_step
        self._at, self._step, self._value = time.monotonic(), global_step(), 0.0

    def now(self) -> float:
        elapsed_s = time.monotonic() - self._at
        if elapsed_s >= 1.0:
            step = self._global_step()
            self._value = (step - self._step) / elapsed_s
            self._at, self._step = time.monotonic(), step
        return self._value
