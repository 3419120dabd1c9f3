"""A line is what was logged, reduced to what can be seen: no spike is lost, gaps are gaps."""

import math

import numpy as np
import pytest

from mosaic.gui.models.charts.plotted_curve import BLOCK, Line
from mosaic.gui.models.charts.series import Series, trailing_mean
from mosaic.gui.models.daemon.news import Points

from .plain_lines import a_line

NAN, INF = math.nan, math.inf
ALL = (-INF, INF)


@pytest.mark.parametrize("window", [1, 7])
@pytest.mark.parametrize("log", [False, True])
def test_a_line_that_grew_bit_by_bit_is_the_line_of_the_whole(window: int, log: bool) -> None:
    random = np.random.default_rng(1)
    values = random.normal(size=1000)
    values[[50, 51, 700]] = NAN, INF, -INF
    whole = a_line(values, window=window, log=log)
    series = Series()
    growing = Line(series, window, log=log)
    done = 0
    while done < 1000:
        count = int(random.integers(1, 40))
        part = values[done : done + count].tolist()
        series.extend(Points([float(done + n) for n in range(len(part))], [0.0] * len(part), part))
        growing.update()
        done += count
    np.testing.assert_allclose(growing.y, whole.y)
    for columns in (3, 20):
        np.testing.assert_allclose(
            growing.reduced(series.steps, *ALL, columns).y, whole.reduced(whole.series.steps, *ALL, columns).y
        )
    assert (growing.missing, growing.not_positive) == (whole.missing, whole.not_positive)
    assert growing.missing == 3


def test_a_spike_in_a_million_points_is_seen_from_afar_and_exact_from_near() -> None:
    values = np.random.default_rng(2).normal(size=1_000_000)
    values[654_321] = 99.0
    line = a_line(values)
    x = line.series.steps
    far = line.reduced(x, *ALL, 800)
    assert len(far.x) <= 2 * 800 + 4
    assert (far.y.max(), far.x[far.y.argmax()]) == (99.0, 654_321)
    assert far.y.min() == values.min()
    near = line.reduced(x, 654_300.0, 654_350.0, 800)
    np.testing.assert_array_equal(near.y, values[654_299:654_352])


@pytest.mark.parametrize("place", [0, 1, BLOCK, 99_999, 99_990, 77_777])
def test_no_place_hides_a_spike(place: int) -> None:
    values = np.zeros(100_003)
    values[place] = -5.0
    line = a_line(values)
    assert line.reduced(line.series.steps, *ALL, 40).y.min() == -5.0
    assert line.reduced(line.series.steps, place - 20_000.0, place + 20_000.0, 40).y.min() == -5.0


def test_what_is_not_finite_is_a_gap_and_counted() -> None:
    values = np.ones(10_000)
    values[4000:6000] = NAN
    values[9000] = INF
    line = a_line(values, window=5)
    drawn = line.reduced(line.series.steps, *ALL, 100)
    gap = drawn.x[np.isnan(drawn.y)]
    assert gap.min() >= 3900
    assert gap.max() <= 6100
    assert line.missing == 2001
    near = line.reduced(line.series.steps, 8998.0, 9002.0, 100)
    assert np.isnan(near.y).sum() == 1


def test_an_exploded_loss_does_not_spoil_the_mean_after_it() -> None:
    values = np.full(100, 0.5)
    values[10] = 1e25
    assert trailing_mean(values, 7)[50] == 0.5
