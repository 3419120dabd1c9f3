"""Seeds of one experiment as one curve: at a common x, with a middle, a band and their number."""

import math

import numpy as np
import pytest

from mosaic.gui.models.charts.charts_model import Member, group_name
from mosaic.gui.models.charts.plotted_curve import SeedsCurve
from mosaic.gui.models.charts.seed_summary import interpolated, note_of, summary
from mosaic.gui.models.charts.series import Column
from mosaic.statistics.enough_seeds import FEWEST
from mosaic.statistics.seed_curves import RESAMPLES, outside

from .plain_lines import a_line

NAN, INF = math.nan, math.inf
ALL = (-INF, INF)


def plain_interpolation(x: list[float], y: list[float], at: float) -> float:
    if not x[0] <= at <= x[-1]:
        return NAN
    before = max(index for index in range(len(x)) if x[index] <= at)
    if x[before] == at:
        return y[before] if math.isfinite(y[before]) else NAN
    share = (at - x[before]) / (x[before + 1] - x[before])
    value = y[before] + share * (y[before + 1] - y[before])
    return value if math.isfinite(value) else NAN


def seeds_of_different_length() -> list[tuple[Column, Column]]:
    random = np.random.default_rng(3)
    seeds: list[tuple[Column, Column]] = []
    for length in (60, 50, 60, 30, 55, 60):
        x = np.sort(random.integers(0, 3 * length, length)).astype(float)
        seeds.append((x, random.normal(size=length)))
    seeds[0][1][[20, 21]] = NAN, INF
    return seeds


def test_seeds_meet_at_a_common_x_as_in_a_plain_loop() -> None:
    for x, y in seeds_of_different_length():
        knots = np.arange(-5, 190, 0.5)
        expected = [plain_interpolation(x.tolist(), y.tolist(), at) for at in knots.tolist()]
        np.testing.assert_allclose(interpolated(x, y, knots), expected)


@pytest.mark.parametrize("middle", ["mean", "IQM"])
def test_middle_band_and_n_are_those_of_a_plain_loop(middle: str) -> None:
    knots = np.arange(-5.0, 190.0)
    values = np.stack([interpolated(x, y, knots) for x, y in seeds_of_different_length()])
    found = summary(values, "mean" if middle == "mean" else "IQM")
    for place in range(len(knots)):
        there = sorted(value for value in values[:, place] if math.isfinite(value))
        assert found.count[place] == len(there)
        if not there:
            assert math.isnan(found.middle[place])
            continue
        made = plain_mean(there) if middle == "mean" else plain_iqm(there)
        if len(there) < FEWEST:
            made[1:] = NAN, NAN
        np.testing.assert_allclose([found.middle[place], found.bottom[place], found.top[place]], made)
    assert set(found.count.tolist()) >= {0, 3, 6}


def plain_mean(values: list[float]) -> list[float]:
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) if len(values) > 1 else 0.0
    return [mean, mean - deviation, mean + deviation]


def plain_iqm(values: list[float]) -> list[float]:
    n, random = len(values), np.random.default_rng(0)

    def iqm(sample: list[float]) -> float:
        kept = sorted(sample)[n // 4 : n - n // 4]
        return sum(kept) / len(kept)

    again = sorted(iqm([values[index] for index in draw]) for draw in random.integers(0, n, (RESAMPLES, n)))
    return [iqm(values), again[outside(n)], again[-1 - outside(n)]]


def test_a_group_says_where_its_n_falls() -> None:
    lengths = (100, 60, 60, 30)
    lines = [a_line([1.0] * length) for length in lengths]
    curve = SeedsCurve("ppo", 0, [(line.series.steps, line) for line in lines], "mean", False)
    assert [(fall.x, fall.n) for fall in curve.falls()] == [(29, 3), (59, 1)]
    assert curve.note == "mean, n = 4: every seed, no band below 5"
    assert [curve.at(x)[1] for x in (10, 29, 29.5, 59.5, 99, 100)] == [4, 4, 3, 1, 1, 0]


def test_a_note_says_what_the_band_is_worth() -> None:
    assert note_of("IQM", 1) == "IQM, n = 1: every seed, no band below 5"
    assert note_of("IQM", 9) == "IQM 95 % CI (rough), n = 9"
    assert note_of("mean", 10) == "mean ± std, n = 10"


@pytest.mark.parametrize("middle", ["mean", "IQM"])
@pytest.mark.parametrize("log", [False, True])
def test_below_five_seeds_each_is_drawn_and_no_band(middle: str, log: bool) -> None:
    values = [[1.0 + seed] * 30 for seed in range(4)]
    lines = [a_line(each) for each in values]
    curve = SeedsCurve("ppo", 0, [(line.series.steps, line) for line in lines], middle, log)  # type: ignore[arg-type]
    drawn = curve.drawn(*ALL, 400)
    assert all(np.isnan(edge).all() for edge in drawn.band)
    assert drawn.each is not None
    heights = sorted({*drawn.each.y[np.isfinite(drawn.each.y)].tolist()})
    assert heights == pytest.approx([math.log10(1 + seed) if log else 1.0 + seed for seed in range(4)])


def test_each_seed_is_drawn_only_where_fewer_than_five_are_left() -> None:
    lengths = (100, 100, 100, 50, 50, 50)
    lines = [a_line(np.arange(length) + 10.0 * seed) for seed, length in enumerate(lengths)]
    drawn = SeedsCurve("ppo", 0, [(line.series.steps, line) for line in lines], "IQM", False).drawn(*ALL, 400)
    assert drawn.each is not None
    shown = drawn.each.x[np.isfinite(drawn.each.y)]
    assert (shown.min(), shown.max()) == (49, 99)
    bottom, top = drawn.band
    assert np.isfinite(bottom[drawn.line.x <= 49]).all()
    assert np.isnan(top[drawn.line.x > 49]).all()


def test_from_five_seeds_on_there_is_a_band_and_no_single_seed() -> None:
    lines = [a_line([1.0 + seed] * 30) for seed in range(5)]
    drawn = SeedsCurve("ppo", 0, [(line.series.steps, line) for line in lines], "IQM", False).drawn(*ALL, 400)
    assert drawn.each is None
    assert all(np.isfinite(edge).all() for edge in drawn.band)


def test_the_extremes_of_every_seed_are_knots_of_the_group() -> None:
    values = [np.zeros(50_000) for _ in range(5)]
    values[3][12_345] = 50.0
    lines = [a_line(each) for each in values]
    drawn = SeedsCurve("ppo", 0, [(line.series.steps, line) for line in lines], "mean", False).drawn(*ALL, 400)
    assert drawn.line.y.max() == 10.0
    assert len(drawn.line.x) < 600


def test_a_group_is_called_by_what_its_seeds_share() -> None:
    assert group_name([Member("a", "ppo_cartpole_s1", 0), Member("b", "ppo_cartpole_s12", 0)]) == "ppo_cartpole"
    assert group_name([Member("a", "walker, seed 1", 0), Member("b", "walker, seed 2", 0)]) == "walker"
    assert group_name([Member("a", "walker 3", 0), Member("b", "walker 3", 0)]) == "walker 3"
