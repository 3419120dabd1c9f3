"""The stratified bootstrap: runs are drawn anew within each task, so that no resample loses a task.

Percentile intervals, 95 %, from a generator with a fixed seed: the same scores have the same interval everywhere.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from mosaic.statistics.aggregates import Statistic, Values
from mosaic.statistics.enough_seeds import FEWEST
from mosaic.statistics.intervals import Interval, Tasks, fewest, without_limits

GroupStatistic: TypeAlias = Callable[[Sequence[Sequence[Values]]], Values]
"""Of the drawn tasks of each group."""
RESAMPLES = 10_000
LIMITS = (0.025, 0.975)
CHUNK = 2_000_000
"""Drawn scores that are in memory at once."""


def interval(tasks: Tasks, statistic: Statistic, *, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """The statistic of the scores, and its interval unless a task has too few runs for one."""
    if not tasks or not fewest(tasks):
        raise ValueError("a task without runs has no statistics")
    value = float(statistic(tasks))
    if fewest(tasks) < FEWEST:
        return without_limits(value)
    low, high = np.quantile(resampled([tasks], lambda groups: statistic(groups[0]), resamples, seed), LIMITS)
    return Interval(value, float(low), float(high))


def resampled(groups: Sequence[Tasks], statistic: GroupStatistic, resamples: int = RESAMPLES, seed: int = 0) -> Values:
    """The statistic of each resample, of one group or of several that are drawn independently; resamples first."""
    generator = np.random.default_rng(seed)
    size = sum(len(task) for tasks in groups for task in tasks)
    rows = max(1, CHUNK // size)
    made: list[Values] = []
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        drawn = [[task[generator.integers(0, len(task), (count, len(task)))] for task in tasks] for tasks in groups]
        made.append(statistic(drawn))
    return np.concatenate(made)
