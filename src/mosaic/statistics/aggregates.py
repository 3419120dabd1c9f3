"""One number of many scores: IQM, mean, median and optimality gap over runs and tasks, as Agarwal et al. define them.

Each takes tasks whose last axis is the runs, so that all resamples of a bootstrap are summed up at once: an array of
shape (resamples, runs) for each task gives an array of shape (resamples,). Definitions: arXiv:2108.13264, section 4.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Values: TypeAlias = NDArray[np.float64]
Statistic: TypeAlias = Callable[[Sequence[Values]], Values]


def iqm(tasks: Sequence[Values]) -> Values:
    """The mean of the middle half of all scores: without the n // 4 lowest and the n // 4 highest."""
    scores = np.concatenate(tasks, axis=-1)
    n = scores.shape[-1]
    cut = n // 4
    if cut:
        scores = np.partition(scores, (cut, n - cut - 1), axis=-1)[..., cut : n - cut]
    return scores.mean(axis=-1)


def mean(tasks: Sequence[Values]) -> Values:
    """The mean of the tasks' means."""
    return _task_means(tasks).mean(axis=0)


def median(tasks: Sequence[Values]) -> Values:
    """The median of the tasks' means; of a single task the median of its scores, for its mean has none."""
    if len(tasks) == 1:
        return np.median(tasks[0], axis=-1)
    return np.median(_task_means(tasks), axis=0)


def optimality_gap(tasks: Sequence[Values], target: float = 1.0) -> Values:
    """How far the scores stay below the target on average; what is above it counts as the target."""
    return target - mean([np.minimum(task, target) for task in tasks])


def _task_means(tasks: Sequence[Values]) -> Values:
    return np.stack([task.mean(axis=-1) for task in tasks])
