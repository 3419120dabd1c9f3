"""Sample efficiency of one run: the area under its curve of returns, and the steps to a threshold.

The curve is the mean of the last `window` returns at each end of an episode. The area is that below the curve from step
0 to the end, divided by its width: the mean return during training, with a straight line between points and the first
value held back to step 0. A threshold is reached at the first step at which a whole window has this mean.
"""

import numpy as np

from mosaic.statistics.intervals import Column

WINDOW = 20
"""Episodes over which returns are averaged."""


def smoothed(returns: Column, window: int = WINDOW) -> Column:
    """The mean of the last returns, at most `window` of them, at each."""
    sums = np.concatenate([[0.0], np.cumsum(returns)])
    ends = np.arange(1, len(returns) + 1)
    starts = np.maximum(ends - window, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)


def area_under(steps: Column, returns: Column, until: float, window: int = WINDOW) -> float:
    """The mean height of the curve from step 0 to `until`; NaN if there is no point in between."""
    inside = steps <= until
    if not inside.any() or until <= 0:
        return float("nan")
    x, y = steps[inside], smoothed(returns, window)[inside]
    x, y = np.concatenate([[0.0], x, [until]]), np.concatenate([y[:1], y, y[-1:]])
    return float(np.trapezoid(y, x) / until)


def steps_to(steps: Column, returns: Column, threshold: float, window: int = WINDOW) -> float | None:
    """The step at which the mean of `window` returns first reaches the threshold; None if it never does."""
    reached = np.flatnonzero(smoothed(returns, window)[window - 1 :] >= threshold)
    return float(steps[window - 1 + reached[0]]) if len(reached) else None
