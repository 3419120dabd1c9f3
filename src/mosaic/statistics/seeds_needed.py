"""How many seeds it takes to tell two groups apart: Welch's test at 5 %, found in 80 of 100 experiments.

d is the difference of the means over the standard deviation (the root of the mean of both variances). A group needs
n ≥ 2 ((t₀.₉₇₅ + t₀.₈) / d)² runs, with 2n − 2 degrees of freedom, and five at least: with fewer there is no interval.
The d of few runs is itself uncertain, and so is n.
"""

import math
from dataclasses import dataclass

from mosaic.statistics import student_t
from mosaic.statistics.enough_seeds import FEWEST
from mosaic.statistics.intervals import UPPER, Column

POWER = 0.8
MOST = 10_000
"""Runs above which the answer is that no sensible number will do."""


@dataclass(frozen=True)
class SeedsNeeded:
    effect: float
    """d, without its sign."""
    each: int | None
    """Runs that each group needs in all; None if more than MOST."""
    more: tuple[int, int] | None
    """What that is more than each group has."""


def seeds_needed(one: Column, other: Column) -> SeedsNeeded | None:
    """From what two groups have scored so far in the same task; None if either has less than two runs."""
    if min(len(one), len(other)) < 2:
        return None
    spread = math.sqrt((float(one.var(ddof=1)) + float(other.var(ddof=1))) / 2)
    difference = abs(float(one.mean()) - float(other.mean()))
    if not difference:
        return SeedsNeeded(0.0, None, None)
    effect = difference / spread if spread else math.inf
    each = runs_for(effect)
    if each is None:
        return SeedsNeeded(effect, None, None)
    each = max(each, FEWEST)
    return SeedsNeeded(effect, each, (max(0, each - len(one)), max(0, each - len(other))))


def runs_for(effect: float) -> int | None:
    """Runs of each group that tell groups apart which differ by so many standard deviations."""
    low, high = 1, 2
    while not _is_enough(high, effect):
        low, high = high, 2 * high
        if low >= MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_enough(middle, effect) else (middle, high)
    return high if high <= MOST else None


def _is_enough(n: int, effect: float) -> bool:
    freedom = 2.0 * n - 2
    needed = 2 * ((student_t.quantile(UPPER, freedom) + student_t.quantile(POWER, freedom)) / effect) ** 2
    return n >= needed
