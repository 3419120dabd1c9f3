"""The rules of alerts over the numbers of a run: NaN, collapse of the return, no progress. Arithmetic alone.

All of them are about the mean return of the last 100 episodes, m, and its standard error s/√100. With the mean of the
first 100 episodes f, and the highest mean so far b:

- nan: a return, or a metric `losses/…` or with "loss" in its name, is NaN or infinite. `losses/explained_variance` is
  left out: it is NaN whenever all returns of a batch are equal.
- collapse: b − m ≥ share · (b − f), and b − m ≥ 8 standard errors of that difference, for 100 episodes in a row.
- no_progress: when `share` of the steps are done, and 200 episodes at least, b − f ≤ 4 standard errors of that
  difference: even the best 100 episodes were no better than the first 100. An attempt that goes on from a checkpoint
  may begin at its best, so it is not asked.

A run that stays at its best is not an alert. Each rule finds once in an attempt. What was found depends on
the events alone, not on when they are read, so it is the same after a restart of the daemon.
"""

import math
from collections import deque
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt, Le

from mosaic.alerts.alert import Cause, Finding
from mosaic.spec.events import Number, Step, number

WINDOW = 100
"""Episodes of a mean."""
EPISODES = 2 * WINDOW
"""Fewer say nothing about progress."""
COLLAPSE_ERRORS = 8.0
PROGRESS_ERRORS = 4.0
NO_LOSS = frozenset({"losses/explained_variance"})


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """The numbers of the rules that a user sets."""

    collapse: Annotated[float, Gt(0), Le(1)] = 0.5
    """Share of the gained return whose loss is a collapse."""
    no_progress: Annotated[float, Gt(0), Le(1)] = 0.5
    """Share of the steps after which a return that has not risen is an alert."""
    stall_s: Annotated[float, Ge(1)] = 600.0
    """Seconds without any event of a running worker that are an alert, too."""


@dataclass(frozen=True, kw_only=True)
class WatchState:
    """All that the rules remember, as `cursor.json` keeps it."""

    window: tuple[Number, ...] = ()
    """The last returns."""
    episodes: Step = 0
    """Of the attempt."""
    first: Number | None = None
    """Mean of the first 100."""
    first_variance: Number = 0.0
    """Of the first 100 returns."""
    best: Number | None = None
    """Highest mean of 100."""
    best_variance: Number = 0.0
    """Of those 100 returns."""
    best_step: Step = 0
    """Where it was."""
    fallen: Step = 0
    """Episodes in a row whose mean had collapsed."""
    asked: bool = False
    """The question for progress is answered."""
    found: tuple[Finding, ...] = ()
    """Of this attempt."""


class RunWatch:
    """The rules at work on one run; a few operations an event."""

    def __init__(self, thresholds: Thresholds | None = None) -> None:
        self.thresholds = thresholds or Thresholds()
        self.begin(total_steps=0, is_fresh=True)

    def begin(self, *, total_steps: int, is_fresh: bool) -> None:
        """An attempt."""
        self.total_steps = total_steps
        self._is_fresh = is_fresh
        self.restore(WatchState())

    def state(self) -> WatchState:
        return WatchState(
            window=tuple(number(value) for value in self._window),
            episodes=self._episodes,
            first=None if self._first is None else number(self._first),
            first_variance=number(self._first_variance),
            best=None if self._first is None else number(self._best),
            best_variance=number(self._best_variance),
            best_step=self._best_step,
            fallen=self._fallen,
            asked=self._asked,
            found=tuple(self.found.values()),
        )

    def restore(self, state: WatchState) -> None:
        self._window = deque((float(value) for value in state.window), maxlen=WINDOW)
        self._episodes, self._fallen, self._asked = state.episodes, state.fallen, state.asked
        self._first = None if state.first is None else float(state.first)
        self._first_variance, self._best_variance = float(state.first_variance), float(state.best_variance)
        self._best = -math.inf if state.best is None else float(state.best)
        self._best_step = state.best_step
        self.found: dict[Cause, Finding] = {finding.cause: finding for finding in state.found}
        self._sum_up()

    def take_odd(self, tag: str, step: int, value: float) -> None:
        """A metric that is not a finite number."""
        if "nan" not in self.found and (tag.startswith("losses/") or "loss" in tag.lower()) and tag not in NO_LOSS:
            self._find("nan", step, f"{tag} is {value} at step {step:,}")

    def take_return(self, step: int, value: float) -> None:
        if not math.isfinite(value):
            if "nan" not in self.found:
                self._find("nan", step, f"the return of an episode is {value} at step {step:,}")
            return
        self._episodes += 1
        window = self._window
        if len(window) < WINDOW:
            window.append(value)
            if len(window) == WINDOW:
                self._sum_up()
                self._first, self._first_variance = self._mean, self._variance
                self._best, self._best_variance, self._best_step = self._mean, self._variance, step
            return
        oldest = window[0] - self._centre
        window.append(value)
        newest = value - self._centre
        self._sum += newest - oldest
        self._squares += newest * newest - oldest * oldest
        if self._episodes % WINDOW == 0:
            self._sum_up()  # So that errors of rounding do not add up.
        mean = self._mean
        if mean > self._best:
            self._best, self._best_variance, self._best_step = mean, self._variance, step
        self._look_for_collapse(step, mean)
        if not self._asked and self._episodes >= EPISODES:
            self._look_for_progress(step)

    @property
    def _mean(self) -> float:
        return self._centre + self._sum / WINDOW

    @property
    def _variance(self) -> float:
        return max(self._squares / WINDOW - (self._sum / WINDOW) ** 2, 0.0)

    def _sum_up(self) -> None:
        """Around a centre: squares of large numbers that differ little would cancel each other out."""
        self._centre = self._window[0] if self._window else 0.0
        apart = [value - self._centre for value in self._window]
        # Not by fsum, which raises an error where a sum is too large for a number.
        self._sum, self._squares = sum(apart), sum(value * value for value in apart)

    def _look_for_collapse(self, step: int, mean: float) -> None:
        first, best = self._first, self._best
        drop = best - mean
        # Asked so that what is not a number, of returns too large for a sum, answers no.
        is_large = first is not None and drop > 0 and drop >= self.thresholds.collapse * (best - first)
        if not is_large or not drop >= self._error_of_drop():
            self._fallen = 0
            return
        self._fallen += 1
        if self._fallen >= WINDOW and "collapse" not in self.found:
            text = (
                f"the mean return of the last {WINDOW} episodes is {mean:.6g} at step {step:,}; at step"
                f" {self._best_step:,} it was {best:.6g}, and it had begun at {self._first:.6g}"
            )
            self._find("collapse", step, text)

    def _error_of_drop(self) -> float:
        return COLLAPSE_ERRORS * math.sqrt((self._best_variance + self._variance) / WINDOW)

    def _look_for_progress(self, step: int) -> None:
        share = self.thresholds.no_progress
        if self._first is None or self.total_steps <= 0 or step < share * self.total_steps:
            return
        self._asked = True
        error = math.sqrt((self._first_variance + self._best_variance) / WINDOW)
        if self._is_fresh and self._best - self._first <= PROGRESS_ERRORS * error:
            text = (
                f"after {step:,} of {self.total_steps:,} steps the best mean return of {WINDOW} episodes is"
                f" {self._best:.6g}; that of the first {WINDOW} was {self._first:.6g}"
            )
            self._find("no_progress", step, text)

    def _find(self, cause: Cause, step: int, text: str) -> None:
        self.found[cause] = Finding(cause=cause, global_step=step, text=text)
