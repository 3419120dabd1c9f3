"""What the race of a confirmation loses, simulated: `python -m bench.sweeps race`.

80 settings are worth 1 at best, and most of them less. Each has one score to be shortlisted by, ten more to be
confirmed by, and fifty that tell what its IQM is worth. Scores are normal, or normal with another spread for each
setting, or normal with a failure now and then, of a share that differs from setting to setting.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mosaic.statistics import aggregates
from mosaic.sweep import race_rounds
from mosaic.sweep.race_rounds import Round

Values: TypeAlias = NDArray[np.float64]
Draw: TypeAlias = Callable[[np.random.Generator, Values, int], Values]
SETTINGS, SEEDS, JUDGES = 80, 10, 50
BEST = 5


def normal(random: np.random.Generator, worth: Values, seeds: int, spread: float = 0.15) -> Values:
    return worth[:, None] + random.normal(0, spread, (len(worth), seeds))


def wide(random: np.random.Generator, worth: Values, seeds: int) -> Values:
    return normal(random, worth, seeds, 0.4)


def unequal(random: np.random.Generator, worth: Values, seeds: int) -> Values:
    spread = 0.15 * random.lognormal(0, 0.5, len(worth))
    return worth[:, None] + random.normal(0, 1, (len(worth), seeds)) * spread[:, None]


def failing(random: np.random.Generator, worth: Values, seeds: int) -> Values:
    share = random.beta(1, 6, len(worth))
    scores = normal(random, worth, seeds, 0.05)
    return np.where(random.random(scores.shape) < share[:, None], scores - 2, scores)


NOISES: Mapping[str, Draw] = {"normal": normal, "normal, wide": wide, "unequal": unequal, "failing": failing}
WAYS: Mapping[str, Sequence[Round]] = {
    "all seeds for all": [Round(BEST, SEEDS)],
    "race": race_rounds.rounds(BEST, SEEDS),
    "the best single run": [Round(1, SEEDS)],
}


def main(repeats: int) -> int:
    print(f"worth of the chosen settings, mean of {repeats:,} repetitions (and the worst twentieth)")
    for noise, draw in NOISES.items():
        random = np.random.default_rng(0)
        found: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(repeats):
            scores = draw(random, 1 - random.exponential(0.5, SETTINGS), 1 + SEEDS + JUDGES)
            worth = aggregates.iqm([scores[:, 1 + SEEDS :]])
            shortlist = np.argsort(-scores[:, 0])
            for way, rounds in WAYS.items():
                found[way].append(float(worth[winner(scores[:, 1 : 1 + SEEDS], shortlist, rounds)]))
        said = [f"{way} {np.mean(one):.3f} ({np.quantile(one, 0.05):.3f})" for way, one in found.items()]
        print(f"{noise}: {'; '.join(said)}")
    costs = [f"{way} {race_rounds.runs([*rounds]) + SEEDS}" for way, rounds in WAYS.items()]
    print(f"runs, the default's among them: {'; '.join(costs)}")
    return 0


def winner(scores: Values, shortlist: NDArray[np.intp], rounds: Sequence[Round]) -> int:
    """As `race_decision` has it."""
    left = shortlist[: rounds[0].settings]
    for one, further in zip(rounds, [*rounds[1:], Round(1, 0)], strict=True):
        standing = aggregates.iqm([scores[left, : one.seeds]])
        left = left[np.argsort(-standing)[: further.settings]]
    return int(left[0])
