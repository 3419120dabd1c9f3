"""Marks of an axis are round and few."""

import math

import numpy as np
import pytest

from mosaic.gui.models.charts.axis_ticks import apart, clock_text, log_ticks, number_text, span_text, time_ticks


def test_marks_of_time_are_round_and_few() -> None:
    spacing, places = time_ticks(0, 7500, 8, is_clock=False)
    assert (spacing, places[:3]) == (1800, [0, 1800, 3600])
    assert [span_text(place, spacing) for place in places] == ["0 s", "30 min", "1 h 00", "1 h 30", "2 h 00"]
    assert [span_text(s, 15) for s in (0, 45, 75)] == ["0 s", "45 s", "1:15"]
    spacing, places = time_ticks(1.7e9, 1.7e9 + 86_400, 6, is_clock=True)
    assert all(clock_text(place, spacing).endswith(":00") or " " in clock_text(place, spacing) for place in places)


def test_marks_of_a_log_axis_are_decades_or_what_lies_between() -> None:
    assert log_ticks(-3, 3, 8) == [-3, -2, -1, 0, 1, 2, 3]
    assert [round(10**tick, 6) for tick in log_ticks(-0.1, 1.1, 8)] == [1, 2, 5, 10]
    within = [10**tick for tick in log_ticks(math.log10(210), math.log10(290), 6)]
    np.testing.assert_allclose(within, [220, 240, 260, 280])


@pytest.mark.parametrize("first", [0.0, 1e-9, 0.00025, 0.99, 1_000_000.0, 123_456_789.0, 3.2e14])
@pytest.mark.parametrize("spacing", [1e-10, 1e-4, 0.5, 1.0, 250.0, 1e6])
def test_marks_beside_one_another_never_say_the_same(first: float, spacing: float) -> None:
    if spacing < first * 1e-12:
        return  # Closer than floats are.
    values = [round(first / spacing) * spacing + place * spacing for place in range(6)]
    texts = [number_text(value, spacing) for value in values]
    assert len(set(texts)) == len(texts)
    assert number_text(0.0, spacing) == "0"


def test_numbers_on_an_axis_are_short() -> None:
    texts = [
        number_text(*each) for each in ((20_000.0, 5000.0), (1.5e6, 5e5), (2.5e-4, 5e-5), (-0.25, 0.05), (2e6, 1e6))
    ]
    assert texts == ["20k", "1.5M", "2.5e-4", "-0.25", "2M"]


def test_texts_that_would_lie_on_one_another_are_left_out() -> None:
    assert apart([(0, 10), (8, 18), (17, 30), (35, 40)], gap=6) == [0, 2]
