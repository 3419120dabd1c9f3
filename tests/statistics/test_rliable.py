"""Our statistics against rliable's, on scores that are pinned with its results (tools/rliable_numbers.py)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mosaic.statistics import aggregates, improvement, stratified_bootstrap
from mosaic.statistics.score_profile import profile, shares_above

PINNED: dict[str, Any] = json.loads((Path(__file__).parent / "rliable.json").read_text())
GROUPS = list(PINNED["scores"])
STATISTICS = {
    "iqm": aggregates.iqm,
    "mean": aggregates.mean,
    "median": aggregates.median,
    "optimality_gap": aggregates.optimality_gap,
}
ONE_MEDIAN = ("one task", "median")
"""Of a single task rliable gives the mean (the median of one task's mean), we the median of its scores."""
COMPARED = [(group, name) for group in GROUPS for name in STATISTICS if (group, name) != ONE_MEDIAN]
SAME = 1e-12
CLOSE = 0.01
"""Of the value: both draw their own resamples."""


def tasks_of(group: str) -> list[np.ndarray]:
    return list(np.array(PINNED["scores"][group]).T)


def expected_of(group: str, name: str) -> dict[str, float]:
    return PINNED["statistics"][group][name]


@pytest.mark.parametrize(("group", "name"), COMPARED)
def test_an_aggregate_and_its_bootstrap_are_those_of_rliable(group: str, name: str) -> None:
    expected = expected_of(group, name)
    found = stratified_bootstrap.interval(tasks_of(group), STATISTICS[name], resamples=PINNED["resamples"])
    assert found.value == pytest.approx(expected["value"], abs=SAME)
    for ours, theirs in ((found.low, expected["low"]), (found.high, expected["high"])):
        assert ours == pytest.approx(theirs, abs=CLOSE * max(abs(expected["value"]), abs(theirs)))


@pytest.mark.parametrize("pair", PINNED["improvement"], ids=lambda pair: f"{pair['one']}, {pair['other']}")
def test_the_probability_of_improvement_and_its_bootstrap_are_those_of_rliable(pair: dict[str, Any]) -> None:
    one, other = tasks_of(pair["one"]), tasks_of(pair["other"])
    assert improvement.probability(one, other).value == pytest.approx(pair["value"], abs=SAME)
    found = improvement.bootstrapped(one, other, resamples=20_000)
    assert (found.low, found.high) == pytest.approx((pair["low"], pair["high"]), rel=CLOSE)


@pytest.mark.parametrize("group", GROUPS)
def test_a_profile_is_that_of_rliable(group: str) -> None:
    tasks, thresholds = tasks_of(group), np.array(PINNED["thresholds"])
    expected = PINNED["statistics"][group]["profile"]
    assert shares_above(tasks, thresholds).tolist() == pytest.approx(expected, abs=SAME)
    found = profile(tasks, thresholds)
    assert found.share.tolist() == pytest.approx(expected, abs=SAME)
    assert (found.low <= found.share).all()
    assert (found.share <= found.high).all()


def test_the_pinned_numbers_say_where_they_come_from() -> None:
    assert PINNED["versions"]["rliable"] == "1.2.0"
    assert (Path(__file__).parents[2] / PINNED["made_by"]).exists()
