"""How the returns of evaluations are distributed: shares of the episodes in bins that all of them have in common."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mosaic.gui.models.charts.series import Column
from mosaic.gui.models.evaluation.evaluations import Played

FEWEST, MOST = 5, 40


@dataclass(frozen=True)
class Bars:
    """One evaluation."""

    name: str
    colour: int
    shares: Column
    """Of its episodes, in each bin."""
    mean: float


@dataclass(frozen=True)
class Histogram:
    edges: Column
    bars: Sequence[Bars]
    left_out: int = 0
    """Returns that are not finite."""

    @property
    def highest(self) -> float:
        return max((float(one.shares.max()) for one in self.bars), default=0.0)


def histogram(played: Sequence[Played]) -> Histogram:
    """About the square root of the smallest number of episodes as bins, over the range of all returns."""
    finite = [(one, one.returns[np.isfinite(one.returns)]) for one in played]
    left_out = sum(len(one.returns) - len(values) for one, values in finite)
    finite = [(one, values) for one, values in finite if len(values)]
    if not finite:
        return Histogram(np.empty(0), (), left_out)
    low, high = (float(bound) for bound in _ends([values for _, values in finite]))
    if low == high:
        low, high = low - 0.5, high + 0.5
    count = int(np.clip(round(min(len(values) for _, values in finite) ** 0.5 * 1.5), FEWEST, MOST))
    edges = np.linspace(low, high, count + 1)
    bars = [
        Bars(one.name, one.colour, np.histogram(values, edges)[0] / len(values), float(values.mean()))
        for one, values in finite
    ]
    return Histogram(edges, bars, left_out)


def _ends(columns: Sequence[Column]) -> tuple[float, float]:
    return min(float(values.min()) for values in columns), max(float(values.max()) for values in columns)
