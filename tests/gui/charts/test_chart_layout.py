"""Which charts are shown, where and how large: as the user left it."""

import json

import numpy as np

from mosaic.gui.models.charts.chart_layout import ChartLayout, ChartSpec, spec_of
from mosaic.gui.models.charts.pair_curve import PairCurve
from mosaic.gui.models.charts.series import Series
from mosaic.gui.models.daemon.news import Points
from mosaic.gui.widgets.charts.chart_card_grid import places_of

TAGS = ["charts/episodic_return", "losses/entropy", "losses/value_loss"]
PAIR = ChartSpec("pair", "losses/entropy", "losses/value_loss")


def test_charts_are_added_removed_and_moved_among_those_that_are_shown() -> None:
    layout = ChartLayout()
    assert layout.arranged(TAGS) == TAGS
    layout.add(PAIR.key)
    layout.remove(TAGS[1])
    assert layout.arranged(TAGS) == [TAGS[0], TAGS[2], PAIR.key]
    layout.move(PAIR.key, 0, layout.arranged(TAGS))
    assert layout.arranged(TAGS) == [PAIR.key, TAGS[0], TAGS[2]]
    layout.move(PAIR.key, 99, layout.arranged(TAGS))
    assert layout.arranged(["a/new", *TAGS]) == [TAGS[0], TAGS[2], PAIR.key, "a/new"]
    layout.add(TAGS[1])
    assert set(layout.arranged(TAGS)) == {*TAGS, PAIR.key}
    layout.remove(PAIR.key)
    assert PAIR.key not in layout.arranged(TAGS)


def test_a_layout_is_kept_and_one_that_is_damaged_leaves_the_charts_as_they_come() -> None:
    layout = ChartLayout()
    layout.add(PAIR.key)
    layout.remove(TAGS[0])
    layout.move(TAGS[2], 0, layout.arranged(TAGS))
    layout.resize(TAGS[2], (9, 2))
    again = ChartLayout()
    again.restore(layout.to_json())
    assert again.arranged(TAGS) == layout.arranged(TAGS)
    assert again.span_of(TAGS[2]) == (4, 2)
    whole: dict[str, object] = {"added": [], "removed": [], "order": [], "sizes": {}}
    damaged = [
        whole | change for change in ({"added": 3}, {"order": None}, {"sizes": {"a": 1}}, {"sizes": {"a": [1e999, 1]}})
    ]
    for text in ("", "nothing", "[]", "[" * 100_000, '{"added": 3}', *map(json.dumps, damaged)):
        again.restore(text)
        assert again.arranged(TAGS) == TAGS
        assert not again.is_changed
    layout.reset()
    assert not layout.is_changed


def test_a_key_says_what_a_chart_is_about() -> None:
    for spec in (PAIR, ChartSpec("parallel", columns=("a", "b")), ChartSpec("heat", "weights"), ChartSpec(y='["odd')):
        assert spec_of(spec.key) == spec
    assert spec_of('["no kind", "a", "b"]').kind == "curve"


def test_cards_of_any_size_lie_without_overlap_and_inside_the_page() -> None:
    generator = np.random.default_rng(3)
    for width in (200, 700, 1600, 3800):
        for height in (180, 600, 2000):
            spans = [(int(a), int(b)) for a, b in generator.integers(1, 5, (25, 2))]
            places = places_of([None, *spans], width, height)
            assert all(place.left() >= 0 and place.right() < width for place in places)
            assert not any(a.intersects(b) for at, a in enumerate(places) for b in places[:at])


def series(steps: list[float], values: list[float]) -> Series:
    made = Series()
    made.extend(Points(steps, [1.7e9 + step for step in steps], values))
    return made


def test_a_tag_against_another_is_joined_on_equal_steps_and_says_what_is_missing() -> None:
    nan = float("nan")
    x = series([1, 2, 3, 4, 4, 9], [10, 20, 30, 40, 60, 90])
    y = series([2, 3, 4, 5], [200, nan, 400, 500])
    pair = PairCurve("a run", 0, x, y)
    steps, own, values = pair.points
    assert (steps.tolist(), own.tolist(), values.tolist()) == ([2, 4], [20, 50], [200, 400])
    assert pair.faults == ("a run: 2 of 6 steps have both values; the others are not shown",)
    assert pair.at(21) == (200, 1)
    assert PairCurve("none", 0, x, series([7], [1])).faults[0].startswith("none: 0 of 6 steps")
    assert np.isnan(PairCurve("none", 0, x, series([7], [1])).at(5)[0])
    assert PairCurve("all", 0, y, y).faults[0].startswith("all: 3 of 4 steps")
