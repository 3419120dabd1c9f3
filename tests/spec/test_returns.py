"""Statistics of returns: against plain loops and against intervals whose truth is known."""

import numpy as np
import pytest

from mosaic.spec.return_statistics import iqm, mean, paired, running_mean, share
from mosaic.statistics import student_t


def test_the_iqm_is_the_mean_of_the_middle_half() -> None:
    values = [9.0, 1.0, 3.0, 100.0, -50.0, 4.0, 5.0, 6.0]
    assert iqm(values).value == np.mean([3, 4, 5, 6])
    assert iqm([1.0, 2.0, 6.0]).value == 3.0, "below four it is the mean"


def test_an_interval_is_the_same_every_time_and_collapses_where_there_is_nothing_to_doubt() -> None:
    values = np.random.default_rng(1).normal(size=50)
    assert iqm(values) == iqm(values)
    same = iqm([500.0] * 20)
    assert (same.low, same.value, same.high) == (500, 500, 500)
    with pytest.raises(ValueError, match="no returns"):
        iqm([])


@pytest.mark.parametrize("statistic", [iqm, mean])
def test_the_interval_covers_the_truth_about_as_often_as_it_says(statistic) -> None:
    generator = np.random.default_rng(0)
    intervals = [statistic(generator.normal(10.0, 3.0, size=60)) for _ in range(150)]
    covered = sum(found.low <= 10.0 <= found.high for found in intervals)
    assert 0.88 <= covered / 150 <= 0.99


def test_large_batches_are_resampled_in_pieces() -> None:
    values = np.random.default_rng(0).normal(size=5000)
    found = mean(values)
    assert found.high - found.low == pytest.approx(2 * 1.96 / np.sqrt(5000), rel=0.1)


def test_pairing_takes_the_luck_of_the_start_out() -> None:
    generator = np.random.default_rng(0)
    luck = generator.normal(0, 100, size=40)
    one = {seed: luck[seed] + 5 + generator.normal(0, 1) for seed in range(40)}
    other = {seed: luck[seed] for seed in range(10, 40)}
    found = paired(one, other)
    assert found is not None
    assert found.episodes == 30
    assert 4 < found.difference.low < 5.5 < found.difference.high + 1 < 7
    assert (found.better, found.equal) == (1.0, 0.0)
    assert paired({1: 2.0}, {2: 2.0}) is None


def test_the_running_mean_equals_a_plain_loop() -> None:
    values = 1e6 + np.random.default_rng(0).normal(size=30)
    means, half = running_mean(values)
    for n in range(5, 31):
        assert means[n - 1] == pytest.approx(values[:n].mean())
        t = student_t.quantile(0.975, n - 1)
        assert half[n - 1] == pytest.approx(t * values[:n].std(ddof=1) / np.sqrt(n), rel=1e-6)
    assert np.isnan(half[:4]).all()


@pytest.mark.parametrize("statistic", [iqm, mean])
def test_below_five_returns_there_is_no_interval(statistic) -> None:
    few = statistic([1.0, 2.0, 3.0, 4.0])
    assert (few.value, few.is_known) == (2.5, False)
    assert few.text(4) == "2.5 (n < 5: no interval)"
    assert few.as_json() == {"value": 2.5, "low": None, "high": None}
    more = statistic([1.0, 2.0, 3.0, 4.0, 5.0])
    assert more.is_known
    assert more.text(5).endswith("] rough")
    assert more.text(10).endswith("]")


def test_infinite_returns_have_a_mean_and_no_interval() -> None:
    found = mean([1.0, float("-inf"), 2.0, 3.0, 4.0])
    assert (found.value, found.is_known) == (float("-inf"), False)
    assert found.text(5) == "-inf (no interval)"


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"), [(8, 10, 0.49016, 0.94331), (0, 10, 0.0, 0.27753), (10, 10, 0.72247, 1.0)]
)
def test_a_share_has_wilsons_interval(hits: int, of: int, low: float, high: float) -> None:
    found = share(hits, of)
    assert (found.value, found.low, found.high) == pytest.approx((hits / of, low, high), abs=1e-5)
