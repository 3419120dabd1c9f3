"""Statistics of evaluation returns: what a batch is summed up to, and how policies compare on the same episodes.

IQM: the mean of the middle half, that is without the n // 4 lowest and the n // 4 highest returns (below four returns
it is the mean). Intervals: 95 %, by a percentile bootstrap over episodes (2,000 resamples). The resamples come from a
generator with a fixed seed, so that the same returns give the same interval everywhere. The paired difference of two
policies is bootstrapped over episodes that both have played from the same seed, which takes the luck of the start out.
The interval of a share (of games won, say) is Wilson's score interval, which holds for few games and for all or none.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
OUTSIDE = 50
"""Resamples on either side of the 95 % interval."""
Z_95 = 1.959963984540054
"""95 % of a normal distribution lie within so many standard deviations."""
CHUNK = 2_000_000
"""Drawn numbers that are in memory at once."""

Column = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A statistic and its 95 % interval."""

    value: float
    low: float
    high: float


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
    return _bootstrapped(np.asarray(returns, dtype=np.float64), _middle)


def mean(returns: Sequence[float] | Column) -> Interval:
    return _bootstrapped(np.asarray(returns, dtype=np.float64), lambda rows: rows.mean(axis=1))


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
    rate, z2 = hits / of, Z_95**2
    middle = (rate + z2 / (2 * of)) / (1 + z2 / of)
    half = Z_95 / (1 + z2 / of) * math.sqrt(rate * (1 - rate) / of + z2 / (4 * of**2))
    return Interval(rate, max(0.0, middle - half), min(1.0, middle + half))


def running_mean(returns: Column) -> tuple[Column, Column]:
    """The mean of the first 1, 2, …, n returns, and half the width of its 95 % interval (normal; NaN for the first)."""
    count = np.arange(1, len(returns) + 1)
    means = np.cumsum(returns) / count
    # Around the last mean: sums of squares of large returns would cancel.
    shifted = returns - (means[-1] if len(means) else 0.0)
    squares = np.maximum(np.cumsum(shifted**2) - count * (np.cumsum(shifted) / count) ** 2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = 1.96 * np.sqrt(squares / (count - 1) / count)
    return means, half


def _middle(rows: NDArray[np.float64]) -> Column:
    n = rows.shape[1]
    cut = n // 4
    if cut:
        rows = np.partition(rows, (cut, n - cut - 1), axis=1)[:, cut : n - cut]
    return rows.mean(axis=1)


def _bootstrapped(values: Column, statistic: Callable[[NDArray[np.float64]], Column]) -> Interval:
    if len(values) == 0:
        raise ValueError("no returns, no statistics")
    generator = np.random.default_rng(0)
    value = float(statistic(values[None])[0])
    rows = max(1, CHUNK // len(values))
    made: list[Column] = []
    for start in range(0, RESAMPLES, rows):
        drawn = generator.integers(0, len(values), (min(rows, RESAMPLES - start), len(values)))
        made.append(statistic(values[drawn]))
    resampled = np.sort(np.concatenate(made))
    return Interval(value, float(resampled[OUTSIDE]), float(resampled[-1 - OUTSIDE]))
