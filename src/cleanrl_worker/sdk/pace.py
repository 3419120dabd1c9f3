"""How often a view may take a picture: what the last ones cost, held against the budget."""

import time

from mosaic.fastlane.lease import Demand

SMOOTHING = 0.2
FIRST_PAUSE_FACTOR, FIRST_PAUSE_S = 20, 1.0
"""After a slot's first picture, which opens windows and contexts and is no measure of the others: so many times its
cost, but at most so long."""


class Pace:
    """Fitting and publishing hold the interpreter, so what the view's thread does counts as the learner's time too."""

    def __init__(self) -> None:
        self._learner, self._view = _Cost(), _Cost()
        self._last_end = 0.0
        self._not_before = 0.0

    def learner_paid(self, slot: int, seconds: float) -> None:
        """The learner waited so long for a picture of a slot to be taken."""
        if self._learner.is_first(slot, seconds):
            self._not_before = time.monotonic() + min(seconds * FIRST_PAUSE_FACTOR, FIRST_PAUSE_S)

    def view_paid(self, slot: int, seconds: float) -> None:
        """The view's thread took so long to fit and publish it."""
        self._view.is_first(slot, seconds)
        self._last_end = time.monotonic()

    def wait_s(self, now: float, demand: Demand, tiles: int) -> float:
        """Until the next picture is due: its cost must be no more than the budget's share of the time since."""
        cost_s = self._learner.mean_s + self._view.mean_s
        due = self._last_end + max(cost_s * (1 / demand.budget - 1), 1 / (demand.fps * tiles) - cost_s)
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
