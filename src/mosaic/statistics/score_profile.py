"""Performance profiles: the share of runs that score more than τ, for every τ; the higher curve is the better group.

Each task has the same weight. The band at each τ is Wilson's interval of a share, joined over tasks: where every run is
above τ a bootstrap would be certain of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mosaic.statistics.enough_seeds import FEWEST
from mosaic.statistics.intervals import NAN, Column, Interval, Tasks, fewest, joined, of_share

POINTS = 201


@dataclass(frozen=True)
class Profile:
    """Of one group, at each threshold; the edges of the band are NaN where there are too few runs for one."""

    thresholds: Column
    share: Column
    low: Column
    high: Column


def thresholds_of(groups: Sequence[Tasks], points: int = POINTS) -> Column:
    """From the lowest to the highest score of all, and a little on either side."""
    scores = np.concatenate([task for tasks in groups for task in tasks])
    low, high = float(scores.min()), float(scores.max())
    margin = 0.03 * (high - low) or 0.5
    return np.linspace(low - margin, high + margin, points)


def shares_above(tasks: Sequence[Column], thresholds: Column) -> Column:
    """The share of runs above each threshold; with leading axes of resamples, one for each of them."""
    return np.mean([(task[..., None] > thresholds).mean(axis=-2) for task in tasks], axis=0)


def profile(tasks: Tasks, thresholds: Column) -> Profile:
    share = shares_above(tasks, thresholds)
    if fewest(tasks) < FEWEST:
        none = np.full(len(thresholds), NAN)
        return Profile(thresholds, share, none, none)
    found = [_at(tasks, threshold) for threshold in thresholds.tolist()]
    return Profile(thresholds, share, np.array([one.low for one in found]), np.array([one.high for one in found]))


def _at(tasks: Tasks, threshold: float) -> Interval:
    return joined([of_share(int((task > threshold).sum()), len(task)) for task in tasks]).within(0.0, 1.0)
