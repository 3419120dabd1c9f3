"""Intervals by formula: of a mean (Student's t), of a share (Wilson), and of a mean of independent estimates.

All are 95 %. A mean over tasks has the variance Σ s²/n over the number of tasks squared, and Satterthwaite's degrees of
freedom. Estimates that are not means are joined by the distances of their own limits (Zou & Donner 2008, "MOVER").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mosaic.statistics import student_t
from mosaic.statistics.enough_seeds import FEWEST, trust

Column: TypeAlias = NDArray[np.float64]
Tasks: TypeAlias = Sequence[Column]
"""Scores of a group: an array for each environment, a number in it for each run."""
UPPER = 0.975
"""Share below the upper limit."""
Z_95 = 1.959963984540054
"""95 % of a normal distribution lie within so many standard deviations."""
NAN = float("nan")


@dataclass(frozen=True)
class Interval:
    """A statistic and its 95 % interval; the limits are NaN where there are too few values for one."""

    value: float
    low: float
    high: float

    @property
    def is_known(self) -> bool:
        return not (math.isnan(self.low) or math.isnan(self.high))

    def text(self, n: int, spec: str = ".1f") -> str:
        """As it is printed, of so many values: `412.0 [401.3, 420.8]`, with what to think of it where they are few."""
        value = format(self.value, spec)
        if trust(n) == "none":
            return f"{value} (n < {FEWEST}: no interval)"
        if not self.is_known:
            return f"{value} (no interval)"
        rough = " rough" if trust(n) == "rough" else ""
        return f"{value} [{format(self.low, spec)}, {format(self.high, spec)}]{rough}"

    def as_json(self) -> dict[str, float | None]:
        """JSON has no NaN: a limit that is not known is null."""
        return {name: None if math.isnan(number) else number for name, number in vars(self).items()}

    def within(self, lowest: float, highest: float) -> "Interval":
        """The limits kept to values that the statistic can have."""
        return self if not self.is_known else Interval(self.value, max(lowest, self.low), min(highest, self.high))


def without_limits(value: float) -> Interval:
    """Of a statistic of too few values."""
    return Interval(value, NAN, NAN)


def fewest(tasks: Tasks) -> int:
    """Runs of the task that has the fewest: what an interval over tasks may claim."""
    return min(map(len, tasks), default=0)


def of_mean(values: Sequence[float] | Column) -> Interval:
    """Mean with its t-interval."""
    return of_mean_over_tasks([np.asarray(values, dtype=np.float64)])


def of_mean_over_tasks(tasks: Tasks) -> Interval:
    """The mean of the tasks' means, each task with the same weight."""
    if not tasks or not fewest(tasks):
        raise ValueError("no values, no mean")
    with np.errstate(invalid="ignore"):  # Infinite returns have a mean, and no spread.
        mean = float(np.mean([task.mean() for task in tasks]))
        if fewest(tasks) < FEWEST:
            return without_limits(mean)
        variances = np.array([task.var(ddof=1) / len(task) for task in tasks])
    total = float(variances.sum())
    if not math.isfinite(total):
        return without_limits(mean)
    if total == 0:
        return Interval(mean, mean, mean)
    freedom = float(len(tasks[0]) - 1)
    if len(tasks) > 1:
        freedom = total**2 / float(sum(v**2 / (len(task) - 1) for v, task in zip(variances, tasks, strict=True)))
    half = student_t.quantile(UPPER, freedom) * math.sqrt(total) / len(tasks)
    return Interval(mean, mean - half, mean + half)


def of_share(hits: int, of: int) -> Interval:
    """How many of so many; Wilson's score interval, which holds for few, for none and for all."""
    if of < 1:
        raise ValueError("none, no share")
    rate, z2 = hits / of, Z_95**2
    middle = (rate + z2 / (2 * of)) / (1 + z2 / of)
    half = Z_95 / (1 + z2 / of) * math.sqrt(rate * (1 - rate) / of + z2 / (4 * of**2))
    return Interval(rate, max(0.0, middle - half), min(1.0, middle + half))


def joined(parts: Sequence[Interval]) -> Interval:
    """The mean of independent estimates, each with an interval of its own."""
    value = sum(part.value for part in parts) / len(parts)
    below = math.sqrt(sum((part.value - part.low) ** 2 for part in parts)) / len(parts)
    above = math.sqrt(sum((part.high - part.value) ** 2 for part in parts)) / len(parts)
    return Interval(value, value - below, value + above)
