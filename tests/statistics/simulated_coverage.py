"""How often an interval that is printed as 95 % holds the truth, by simulation: the numbers of docs/statistics.md.

    python tests/statistics/simulated_coverage.py

Each experiment draws scores of n seeds whose truth is known, and asks the same functions as `mosaic stats`, with fewer
resamples. Normal: mean 0, standard deviation 1. Bimodal: four of five seeds solve the task (1), the others do not (0).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from mosaic.statistics import aggregates, improvement, seed_curves, stratified_bootstrap
from mosaic.statistics.intervals import Column, Interval, of_mean, of_mean_over_tasks

RESAMPLES = 1000
EXPERIMENTS = 1000
TASKS = 4
APART = 1.0
"""Standard deviations by which the second of two groups is better."""
SEEDS = (5, 7, 10, 20)


@dataclass(frozen=True)
class Scores:
    name: str
    draw: Callable[[np.random.Generator, tuple[int, ...]], Column]
    mean: float
    gap: float
    """The optimality gap to 1."""
    improvement: float
    """Of a group that is APART better (normal), or of one that is the same (bimodal)."""
    shift: float


def _normal(generator: np.random.Generator, shape: tuple[int, ...]) -> Column:
    return generator.normal(size=shape)


def _bimodal(generator: np.random.Generator, shape: tuple[int, ...]) -> Column:
    return (generator.random(shape) < 0.8) + 0.02 * generator.normal(size=shape)


def _phi(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


NORMAL = Scores("normal", _normal, 0.0, _phi(1) + math.exp(-0.5) / math.sqrt(2 * math.pi), _phi(APART / 2**0.5), APART)
_NOISE = 0.02 / math.sqrt(2 * math.pi)
"""What a target of 1 cuts off from scores that scatter around it by 0.02."""
BIMODAL = Scores("bimodal", _bimodal, 0.8, 0.2 + 0.8 * _NOISE, 0.5, 0.0)


@cache
def _truth_of_iqm(scores: Scores) -> float:
    """The middle half of very many seeds."""
    if scores is NORMAL:
        return 0.0
    many = np.sort(scores.draw(np.random.default_rng(1), (2_000_000,)))
    return float(many[500_000:-500_000].mean())


def coverage(statistic: str, n: int, scores: Scores, *, experiments: int = EXPERIMENTS) -> float:
    """The share of experiments whose interval holds the truth."""
    if statistic == "band":
        return _of_band(n, scores, experiments)
    generator = np.random.default_rng(n)
    truth = _truths(scores)[statistic]
    held = 0
    for _ in range(experiments):
        found = _interval(statistic, list(scores.draw(generator, (TASKS, n))), scores, generator)
        held += found.low <= truth <= found.high
    return held / experiments


def _truths(scores: Scores) -> dict[str, float]:
    iqm = _truth_of_iqm(scores)
    return {
        "IQM": iqm,
        "IQM of 4 tasks": iqm,
        "mean": scores.mean,
        "mean of 4 tasks": scores.mean,
        "optimality gap": scores.gap,
        "probability of improvement": scores.improvement,
        "bootstrap of the mean": scores.mean,
    }


def _interval(statistic: str, tasks: list[Column], scores: Scores, generator: np.random.Generator) -> Interval:
    one = tasks[:1]
    if statistic == "probability of improvement":
        return improvement.probability([tasks[1] + scores.shift], one)
    if statistic == "optimality gap":
        return of_mean(np.maximum(1 - one[0], 0.0))
    if statistic.startswith("mean"):
        return of_mean_over_tasks(tasks if "tasks" in statistic else one)
    seed = int(generator.integers(2**31))
    made = aggregates.mean if statistic == "bootstrap of the mean" else aggregates.iqm
    given = tasks if "tasks" in statistic else one
    return stratified_bootstrap.interval(given, made, resamples=RESAMPLES, seed=seed)


def _of_band(n: int, scores: Scores, experiments: int) -> float:
    """The band of curves in the window and in figures: an experiment at each point of the curve."""
    values = scores.draw(np.random.default_rng(n), (n, experiments))
    found = seed_curves.summary(values, "IQM")
    truth = _truth_of_iqm(scores)
    return float(((found.bottom <= truth) & (truth <= found.top)).mean())


PRINTED = (
    "IQM",
    "IQM of 4 tasks",
    "mean",
    "mean of 4 tasks",
    "optimality gap",
    "probability of improvement",
    "band",
)


def main() -> int:
    print(f"| interval | scores | {' | '.join(f'n = {n}' for n in SEEDS)} |")
    print(f"|---|---|{'---|' * len(SEEDS)}")
    for statistic in (*PRINTED, "bootstrap of the mean"):
        for scores in (NORMAL, BIMODAL):
            shares = " | ".join(f"{coverage(statistic, n, scores):.2f}" for n in SEEDS)
            print(f"| {statistic} | {scores.name} | {shares} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
