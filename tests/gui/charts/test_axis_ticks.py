"""Marks of an axis are round and few."""

import math

import numpy as np

from mosaic.gui.models.charts.axis_ticks import clock_text, log_ticks, span_text, time_ticks


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
