"""Writes tests/statistics/rliable.json: scores, and what rliable 1.2.0 makes of them.

Our statistics are compared with it (tests/statistics/test_rliable.py). rliable is not installed here: it wants arch
below 8, pandas and seaborn. In an environment of its own:

    python -m venv /tmp/rliable && /tmp/rliable/bin/pip install rliable==1.2.0 arch==7.2.0 "pandas<3"
    /tmp/rliable/bin/python tools/rliable_numbers.py tests/statistics/rliable.json
"""

import importlib
import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

RESAMPLES = 50_000
RESAMPLES_OF_PAIRS = 20_000
"""Its probability of improvement takes half a millisecond a task: this is minutes already."""
THRESHOLDS = [0.0, 0.25, 0.5, 0.75, 1.0, 1.25]


def scores() -> dict[str, Any]:
    """Two groups of ten runs in six tasks, one of eight, one with few runs, one with ties and failures."""
    random = np.random.default_rng(2108)
    level = random.uniform(0.3, 1.1, 6)
    return {
        "first": level + random.normal(0, 0.15, (10, 6)),
        "second": level + 0.08 + random.normal(0, 0.2, (8, 6)),
        "bimodal": np.where(random.random((10, 6)) < 0.8, 1.0, 0.0) + random.normal(0, 0.02, (10, 6)),
        "tied": np.round(level + random.normal(0, 0.2, (10, 6)), 1),
        "one task": level[:1] + random.normal(0, 0.15, (12, 1)),
    }


def main() -> int:
    library: Any = importlib.import_module("rliable.library")
    metrics: Any = importlib.import_module("rliable.metrics")
    statistics: dict[str, Callable[[Any], Any]] = {
        "iqm": metrics.aggregate_iqm,
        "mean": metrics.aggregate_mean,
        "median": metrics.aggregate_median,
        "optimality_gap": metrics.aggregate_optimality_gap,
    }
    found = scores()
    made: dict[str, Any] = {}
    for name, matrix in found.items():
        made[name] = {key: estimate(library, {name: matrix}, statistic) for key, statistic in statistics.items()}
        made[name]["profile"] = library.score_distributions(matrix, np.array(THRESHOLDS)).tolist()
    pairs = [("second", "first"), ("tied", "first"), ("first", "first")]
    improvement = [
        {"one": one, "other": other}
        | estimate(
            library, {"pair": (found[one], found[other])}, metrics.probability_of_improvement, RESAMPLES_OF_PAIRS
        )
        for one, other in pairs
    ]
    document = {
        "made_by": "tools/rliable_numbers.py",
        "versions": {name: version(name) for name in ("rliable", "arch", "numpy", "scipy")},
        "resamples": RESAMPLES,
        "scores": {name: matrix.tolist() for name, matrix in found.items()},
        "thresholds": THRESHOLDS,
        "statistics": made,
        "improvement": improvement,
    }
    Path(sys.argv[1]).write_text(json.dumps(document, indent=1) + "\n")
    return 0


def estimate(
    library: Any, groups: dict[str, Any], statistic: Callable[..., Any], resamples: int = RESAMPLES
) -> dict[str, float]:
    # It draws from numpy's global generator, whatever random_state it is given.
    np.random.seed(0)

    def as_array(*given: Any) -> Any:
        return np.array([statistic(*given)])

    points, limits = library.get_interval_estimates(groups, as_array, reps=resamples)
    [value], [[low], [high]] = next(iter(points.values())), next(iter(limits.values()))
    return {"value": float(value), "low": float(low), "high": float(high)}


if __name__ == "__main__":
    raise SystemExit(main())
