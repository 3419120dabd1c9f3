"""The probability of improvement: how often a run of one group scores more than a run of the other.

In each task the share of pairs of runs in which the first has more, a tie counting half (the Mann–Whitney U statistic
over the number of pairs); the mean over tasks. The interval of a task is Newcombe's for this share (Statistics in
Medicine 25, 2006, method 5), those of several tasks are joined. A percentile bootstrap, which `bootstrapped` gives for
comparison, is certain of itself as soon as all runs of one group are above those of the other: [1, 1] from five seeds.
"""

from collections.abc import Sequence

import numpy as np

from mosaic.statistics import stratified_bootstrap
from mosaic.statistics.aggregates import Values
from mosaic.statistics.enough_seeds import FEWEST
from mosaic.statistics.intervals import Z_95, Interval, Tasks, fewest, joined, without_limits


def probability(one: Tasks, other: Tasks, *, z: float = Z_95) -> Interval:
    """That a run of `one` scores more than a run of `other`; both have the same tasks in the same order.

    The limits lie `z` standard errors away.
    """
    _check(one, other)
    shares = [float(_share(mine, theirs)) for mine, theirs in zip(one, other, strict=True)]
    if min(fewest(one), fewest(other)) < FEWEST:
        return without_limits(sum(shares) / len(shares))
    parts = [
        _newcombe(share, len(mine), len(theirs), z) for share, mine, theirs in zip(shares, one, other, strict=True)
    ]
    return joined(parts).within(0.0, 1.0)


def bootstrapped(one: Tasks, other: Tasks, *, resamples: int = stratified_bootstrap.RESAMPLES) -> Interval:
    """The same with a percentile bootstrap of both groups, as rliable makes it."""
    _check(one, other)

    def statistic(groups: Sequence[Sequence[Values]]) -> Values:
        return np.mean([_share(mine, theirs) for mine, theirs in zip(*groups, strict=True)], axis=0)

    value = probability(one, other).value
    if min(fewest(one), fewest(other)) < FEWEST:
        return without_limits(value)
    drawn = stratified_bootstrap.resampled([one, other], statistic, resamples)
    low, high = np.quantile(drawn, stratified_bootstrap.LIMITS)
    return Interval(value, float(low), float(high))


def _check(one: Tasks, other: Tasks) -> None:
    if len(one) != len(other) or not fewest(one) or not fewest(other):
        raise ValueError("two groups are compared in the tasks that both have runs of")


def _share(mine: Values, theirs: Values) -> Values:
    """Of pairs in which the first has more; a tie is half."""
    below = mine[..., :, None] > theirs[..., None, :]
    equal = mine[..., :, None] == theirs[..., None, :]
    return below.mean(axis=(-2, -1)) + 0.5 * equal.mean(axis=(-2, -1))


def _newcombe(share: float, n: int, m: int, z: float) -> Interval:
    """The shares θ that are at most z standard errors from the one found, where θ itself gives the standard error."""

    def is_outside(theta: float) -> bool:
        pairs = (n + m) / 2 - 1
        variance = theta * (1 - theta) * (1 + pairs * ((1 - theta) / (2 - theta) + theta / (1 + theta))) / (n * m)
        return (share - theta) ** 2 > z**2 * variance

    def limit(outside: float) -> float:
        inside = share
        for _ in range(60):
            middle = (outside + inside) / 2
            outside, inside = (middle, inside) if is_outside(middle) else (outside, middle)
        return (outside + inside) / 2

    return Interval(share, limit(0.0) if share > 0 else 0.0, limit(1.0) if share < 1 else 1.0)
