"""Statistics of evaluation returns: what a batch is summed up to, and how policies compare on the same episodes.

IQM: the mean of the middle half, that is without the n // 4 lowest and the n // 4 highest returns (below four returns
it is the mean). Its interval: 95 %, by a percentile bootstrap over episodes (2,000 resamples). The resamples come from
a generator with a fixed seed, so that the same returns give the same interval everywhere. That of a mean is Student's
t. The paired difference of two policies is the mean over episodes that both have played from the same seed, which takes
the luck of the start out. Below five episodes there is no interval: its limits are NaN (`statistics.enough_seeds`).
The interval of a share (of games won, say) is Wilson's score interval, which holds for few games and for all or none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mosaic.statistics import aggregates, student_t
from mosaic.statistics.enough_seeds import FEWEST
from mosaic.statistics.intervals import UPPER, Column, of_mean, of_share, without_limits
from mosaic.statistics.intervals import Interval as Interval

RESAMPLES = 2000
OUTSIDE = 50
"""Resamples on either side of the 95 % interval."""
CHUNK = 2_000_000
"""Drawn numbers that are in memory at once."""


@dataclass(frozen=True)
class Paired:
    """What one policy returns more than another, over the episodes that both have played."""

    episodes: int
    difference: Interval
    """Of the mean."""
    better: float
    """Share of the episodes in which it returned more."""
    equal: float
    """Share of the episodes in which both returned the same."""


def iqm(returns: Sequence[float] | Column) -> Interval:
    values = np.asarray(returns, dtype=np.float64)
    if len(values) == 0:
        raise ValueError("no returns, no statistics")
    value = float(aggregates.iqm([values]))
    return without_limits(value) if len(values) < FEWEST else _bootstrapped(values, value)


def mean(returns: Sequence[float] | Column) -> Interval:
    if len(returns) == 0:
        raise ValueError("no returns, no statistics")
    return of_mean(returns)


def paired(one: Mapping[int, float], other: Mapping[int, float]) -> Paired | None:
    """Returns by the seed of the episode; None if the two have no episode in common."""
    common = sorted(one.keys() & other.keys())
    if not common:
        return None
    differences = np.array([one[seed] - other[seed] for seed in common])
    better, equal = float((differences > 0).mean()), float((differences == 0).mean())
    return Paired(len(common), mean(differences), better, equal)


def share(hits: int, of: int) -> Interval:
    """How many of so many; Wilson's score interval, 95 %."""
    if of < 1:
        raise ValueError("no games, no share")
    return of_share(hits, of)


def running_mean(returns: Column) -> tuple[Column, Column]:
    """The mean of the first 1, 2, …, n returns, and half the width of its 95 % interval (t; NaN below five)."""
    count = np.arange(1, len(returns) + 1)
    means = np.cumsum(returns) / count
    # Around the last mean: sums of squares of large returns would cancel.
    shifted = returns - (means[-1] if len(means) else 0.0)
    squares = np.maximum(np.cumsum(shifted**2) - count * (np.cumsum(shifted) / count) ** 2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = student_t.quantiles(UPPER, np.maximum(count - 1, 1)) * np.sqrt(squares / (count - 1) / count)
    half[: FEWEST - 1] = np.nan
    return means, half


def _bootstrapped(values: Column, value: float) -> Interval:
    generator = np.random.default_rng(0)
    rows = max(1, CHUNK // len(values))
    made: list[Column] = []
    for start in range(0, RESAMPLES, rows):
        drawn = generator.integers(0, len(values), (min(rows, RESAMPLES - start), len(values)))
        made.append(aggregates.iqm([values[drawn]]))
    resampled = np.sort(np.concatenate(made))
    return Interval(value, float(resampled[OUTSIDE]), float(resampled[-1 - OUTSIDE]))
