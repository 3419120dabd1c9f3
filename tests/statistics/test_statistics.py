"""Statistics over seeds and tasks, against plain loops, closed forms and scipy."""

import math
import statistics as plain

import numpy as np
import pytest

from mosaic.statistics import aggregates, student_t
from mosaic.statistics.enough_seeds import remark, trust
from mosaic.statistics.improvement import probability
from mosaic.statistics.intervals import Interval, joined, of_mean, of_mean_over_tasks, of_share
from mosaic.statistics.reference_scores import Reference, reference_scores
from mosaic.statistics.sample_efficiency import area_under, smoothed, steps_to
from mosaic.statistics.score_profile import profile, thresholds_of
from mosaic.statistics.seeds_needed import runs_for, seeds_needed
from mosaic.statistics.stratified_bootstrap import interval, resampled


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("freedom", [1, 2, 3.7, 4, 9, 19, 30.5, 99, 1000, 1e6])
@pytest.mark.parametrize("p", [0.025, 0.5, 0.8, 0.975, 0.999])
def test_quantiles_of_t_are_those_of_scipy(freedom: float, p: float) -> None:
    scipy = pytest.importorskip("scipy.stats")
    assert student_t.quantile(p, freedom) == pytest.approx(scipy.t.ppf(p, freedom), rel=1e-9, abs=1e-12)
    assert student_t.distribution(1.3, freedom) == pytest.approx(scipy.t.cdf(1.3, freedom), rel=1e-9)


def test_quantiles_of_t_are_those_of_a_printed_table() -> None:
    table = {1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262, 19: 2.093, 30: 2.042, 120: 1.980}
    assert {n: round(student_t.quantile(0.975, n), 3) for n in table} == table
    many = student_t.quantiles(0.975, np.array([1, 9, 200, 201, 5_000, 10_000_000]))
    exact = [student_t.quantile(0.975, n) for n in (1, 9, 200, 201, 5_000)]
    assert many.tolist() == pytest.approx([*exact, 1.959964], rel=1e-6)
    with pytest.raises(ValueError, match="no quantile"):
        student_t.quantile(1.0, 3)


def test_aggregates_equal_plain_loops() -> None:
    tasks = [drawn(7, seed=1), drawn(9, seed=2) + 3, drawn(8, seed=3)]
    pooled = sorted(float(score) for task in tasks for score in task)
    assert float(aggregates.iqm(tasks)) == pytest.approx(plain.fmean(pooled[6:-6]))
    means = [plain.fmean(task.tolist()) for task in tasks]
    assert float(aggregates.mean(tasks)) == pytest.approx(plain.fmean(means))
    assert float(aggregates.median(tasks)) == pytest.approx(plain.median(means))
    assert float(aggregates.median(tasks[:1])) == pytest.approx(plain.median(tasks[0].tolist()))
    gaps = [plain.fmean([max(0.0, 1 - score) for score in task.tolist()]) for task in tasks]
    assert float(aggregates.optimality_gap(tasks)) == pytest.approx(plain.fmean(gaps))


def test_every_resample_keeps_each_task_to_its_own_runs() -> None:
    tasks = [np.array([0.0, 1.0]), np.array([10.0, 11.0, 12.0])]
    seen = resampled([tasks], lambda groups: np.stack([groups[0][0].max(axis=1), groups[0][1].min(axis=1)], axis=1))
    assert set(seen[:, 0].tolist()) == {0.0, 1.0}
    assert set(seen[:, 1].tolist()) == {10.0, 11.0, 12.0}
    assert len(seen) == 10_000


def test_the_bootstrap_is_the_same_every_time_and_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [drawn(10), drawn(10, seed=1)]
    whole = interval(tasks, aggregates.iqm)
    assert interval(tasks, aggregates.iqm) == whole
    monkeypatch.setattr("mosaic.statistics.stratified_bootstrap.CHUNK", 20_000)
    pieces = interval(tasks, aggregates.iqm)
    assert (pieces.low, pieces.high) == pytest.approx((whole.low, whole.high), abs=0.02)


def test_a_mean_has_the_t_interval() -> None:
    values = drawn(8)
    half = 2.364624251592785 * values.std(ddof=1) / math.sqrt(8)
    found = of_mean(values)
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), rel=1e-12)
    assert of_mean([3.0] * 6) == Interval(3.0, 3.0, 3.0)
    two = of_mean_over_tasks([values, values])
    # Twice the runs in all, and 14 degrees of freedom.
    assert two.high - two.low == pytest.approx(2 * half / math.sqrt(2) * 2.1447866879 / 2.3646242516, rel=1e-9)
    with pytest.raises(ValueError, match="no mean"):
        of_mean([])


def test_below_five_runs_in_any_task_nothing_has_limits() -> None:
    few, many = drawn(4), drawn(20)
    for found in (
        of_mean(few),
        of_mean_over_tasks([many, few]),
        interval([many, few], aggregates.iqm),
        probability([many], [few]),
    ):
        assert not found.is_known
    assert np.isnan(profile([few], thresholds_of([[few]])).low).all()
    assert [trust(n) for n in (1, 4, 5, 9, 10)] == ["none", "none", "rough", "rough", "plain"]
    assert [remark(n) for n in (3, 7, 12)] == ["no interval below 5 seeds", "rough", ""]


def test_the_probability_of_improvement_counts_pairs_and_halves_ties() -> None:
    one, other = [np.array([1.0, 2.0, 3.0])], [np.array([2.0, 2.0])]
    assert probability(one, other).value == pytest.approx((0 + 0.5 + 1) / 3)
    assert probability(other, one).value == pytest.approx(0.5)
    apart = probability([np.arange(5.0) + 10], [np.arange(5.0)])
    assert apart.value == apart.high == 1.0
    assert 0.5 < apart.low < 0.7, "five seeds against five are not a certainty"
    with pytest.raises(ValueError, match="both have runs"):
        probability(one, [])


def test_intervals_of_shares_are_joined_over_tasks() -> None:
    alone, twice = of_share(8, 10), joined([of_share(8, 10)] * 2)
    assert joined([alone]).low == pytest.approx(alone.low)
    assert twice.value - twice.low == pytest.approx((alone.value - alone.low) / math.sqrt(2))


def test_a_profile_falls_from_all_to_none() -> None:
    tasks = [drawn(10), drawn(10, seed=1) + 1]
    found = profile(tasks, thresholds_of([tasks]))
    assert (found.share[0], found.share[-1]) == (1.0, 0.0)
    assert (np.diff(found.share) <= 0).all()
    assert found.low[0] < 1.0, "ten runs above do not make it certain"
    same = thresholds_of([[np.full(5, 2.0)]])
    assert same[0] < 2 < same[-1]


@pytest.mark.parametrize(("effect", "runs"), [(0.5, 64), (1.0, 17), (1.5, 9), (2.0, 6)])
def test_seeds_that_are_needed_are_those_of_a_table_of_power(effect: float, runs: int) -> None:
    assert runs_for(effect) == runs


def test_seeds_that_are_needed_tell_what_is_there_already() -> None:
    one, other = drawn(6), drawn(9, seed=5)
    found = seeds_needed(one, other + 3)
    assert found is not None
    assert found.each is not None
    assert found.more == (max(0, found.each - 6), max(0, found.each - 9))
    equal = seeds_needed(one, one)
    assert equal is not None
    assert (equal.effect, equal.each) == (0.0, None)
    near = seeds_needed(one, one + 1e-4)
    assert near is not None
    assert near.each is None, "more than 10,000"
    apart = seeds_needed(np.zeros(5), np.ones(5))
    assert apart is not None
    assert (apart.effect, apart.each) == (math.inf, 5)
    assert seeds_needed(one[:1], other) is None


def test_the_area_under_a_curve_is_its_mean_height() -> None:
    steps = np.arange(10.0, 110.0, 10.0)
    assert area_under(steps, np.full(10, 7.0), 100.0) == pytest.approx(7.0)
    assert area_under(steps, steps, 100.0, window=1) == pytest.approx((10 * 10 + 90 * 55) / 100)
    assert area_under(steps, steps, 50.0, window=1) == pytest.approx((10 * 10 + 40 * 30) / 50)
    assert math.isnan(area_under(steps, steps, 5.0))
    assert smoothed(np.array([1.0, 3.0, 5.0, 7.0]), 2).tolist() == [1, 2, 4, 6]


def test_a_threshold_is_reached_by_a_whole_window() -> None:
    steps, returns = np.arange(1.0, 9.0), np.array([9.0, 0, 0, 5, 5, 5, 5, 0])
    assert steps_to(steps, returns, 5.0, window=3) == 6.0
    assert steps_to(steps, returns, 9.0, window=3) is None
    assert steps_to(steps[:2], returns[:2], 1.0, window=3) is None


def test_a_random_policy_is_0_and_the_reference_1() -> None:
    found = Reference(random=-200.0, reference=-110.0).normalised(np.array([-200.0, -110.0, -155.0]))
    assert found.tolist() == [0.0, 1.0, 0.5]
    with pytest.raises(ValueError, match="the same"):
        Reference(3.0, 3.0)


def test_every_reference_score_says_where_it_comes_from() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    assert len(reference_scores()) >= 16
    for env_id, one in reference_scores().items():
        assert "random actions" in one.random_from
        assert "reward_threshold" in one.reference_from
        assert one.reference == gymnasium.spec(env_id).reward_threshold, env_id
        assert one.random < one.reference
