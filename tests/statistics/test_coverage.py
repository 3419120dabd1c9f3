"""What is printed as 95 % holds the truth in at least 90 of 100 experiments, with 5, 10 and 20 normal seeds."""

import pytest

from .simulated_coverage import BIMODAL, NORMAL, PRINTED, coverage

AT_LEAST = 0.90
EXPERIMENTS = 500
"""Half of those in docs/statistics.md, to be quick."""


@pytest.mark.parametrize("n", [5, 10, 20])
@pytest.mark.parametrize("statistic", PRINTED)
def test_an_interval_covers_the_truth_of_normal_scores(statistic: str, n: int) -> None:
    assert coverage(statistic, n, NORMAL, experiments=EXPERIMENTS) >= AT_LEAST


def test_the_simulation_notices_an_interval_that_covers_too_little() -> None:
    assert coverage("bootstrap of the mean", 5, NORMAL, experiments=EXPERIMENTS) < 0.88


def test_scores_of_seeds_that_fail_are_covered_less_often_the_fewer_they_are() -> None:
    few, many = (coverage("IQM", n, BIMODAL, experiments=200) for n in (5, 20))
    assert few < many
