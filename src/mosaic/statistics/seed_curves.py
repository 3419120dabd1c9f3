"""One curve of several seeds: a common x, the middle of the seeds there, a band around it, and how many they are.

The common x. Seeds log at steps of their own, so a curve of the group is made at *knots*. Between two neighbouring
points of its own, a seed is interpolated linearly; at a step that it logged several times its last value counts; before
its first point, after its last one and beside a gap it has no value, and is not counted. Nothing is carried on: where a
seed has ended, n falls.

Mean: arithmetic, with a band of one standard deviation (of the sample, n - 1). IQM: the mean of the middle half, that
is without the n // 4 lowest and the n // 4 highest seeds (below four seeds it is the mean), with a band of the 95 %
interval of a percentile bootstrap over seeds, as Agarwal et al. recommend (arXiv:2108.13264). Its percentiles are
expanded for few seeds (Hesterberg 2015, The American Statistician 69, section 5.3), because a few hundred resamples of
five seeds alone cover 87 of 100: the share outside on either side is Φ(−t √(n / (n − 1))), with t of n − 1 degrees of
freedom. Where fewer than five seeds have a value there is no band (`enough_seeds`): its edges are NaN.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mosaic.statistics import student_t
from mosaic.statistics.enough_seeds import FEWEST
from mosaic.statistics.intervals import UPPER, Column

Middle: TypeAlias = Literal["mean", "IQM"]
BANDS: dict[Middle, str] = {"mean": "± std", "IQM": "95 % CI"}

RESAMPLES = 400


@dataclass(frozen=True)
class Summary:
    """The group at each knot; NaN where no seed has a value, and for the band where fewer than five have."""

    middle: Column
    bottom: Column
    top: Column
    count: NDArray[np.int64]


def interpolated(x: Column, y: Column, knots: Column) -> Column:
    """Values of one seed at the knots; NaN where it has none."""
    if len(x) == 0:
        return np.full(len(knots), np.nan)
    left = np.searchsorted(x, knots, side="right") - 1
    right = np.minimum(left + 1, len(x) - 1)
    inside = (left >= 0) & (knots <= x[-1])
    left = np.maximum(left, 0)
    width = x[right] - x[left]
    share = np.divide(knots - x[left], width, out=np.zeros(len(knots)), where=width > 0)
    with np.errstate(invalid="ignore"):
        between = y[left] + share * (y[right] - y[left])
    # On a point the next one does not matter, even if it is a gap.
    values = np.where(share == 0, y[left], between)
    return np.where(inside & np.isfinite(values), values, np.nan)


def summary(values: NDArray[np.float64], middle: Middle) -> Summary:
    """Of seeds (rows) at knots (columns), where NaN means no value."""
    count = np.isfinite(values).sum(axis=0)
    in_order = np.sort(values, axis=0)  # NaN comes last
    made = np.full((3, values.shape[1]), np.nan)
    for n in np.unique(count[count > 0]).tolist():
        here = count == n
        made[:, here] = (_mean if middle == "mean" else _iqm)(in_order[:n, here])
    made[1:, count < FEWEST] = np.nan
    return Summary(made[0], made[1], made[2], count)


def _mean(values: NDArray[np.float64]) -> Sequence[Column]:
    mean = values.mean(axis=0)
    deviation = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    return mean, mean - deviation, mean + deviation


def _iqm(in_order: NDArray[np.float64]) -> Sequence[Column]:
    n = len(in_order)
    cut = n // 4
    middle = in_order[cut : n - cut].mean(axis=0)
    resampled = in_order.T @ _weights(n)
    low = outside(n)
    high = RESAMPLES - 1 - low
    resampled.partition((low, high), axis=1)
    return middle, resampled[:, low], resampled[:, high]


@cache
def outside(n: int) -> int:
    """Resamples on either side of the 95 % interval of n seeds."""
    if n < 2:
        return 0
    t = student_t.quantile(UPPER, n - 1)
    return int(RESAMPLES * student_t.distribution(-t * (n / (n - 1)) ** 0.5, math.inf))


@cache
def _weights(n: int) -> NDArray[np.float64]:
    """n × RESAMPLES: the IQM of a resample is a weighted sum of the values in their order, the same at every knot."""
    cut = n // 4
    drawn = np.sort(np.random.default_rng(0).integers(0, n, (RESAMPLES, n)), axis=1)[:, cut : n - cut]
    weights = np.zeros((n, RESAMPLES))
    np.add.at(weights, (drawn, np.arange(RESAMPLES)[:, None]), 1 / drawn.shape[1])
    return weights
