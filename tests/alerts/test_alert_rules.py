"""When a rule finds something, and when it does not: event histories of returns."""

import random

import pytest

from mosaic import config
from mosaic.alerts.alert_rules import RunWatch, Thresholds, WatchState

STEPS = 20


def watched(returns: list[float], *, total: int = 0, is_fresh: bool = True, **thresholds: float) -> RunWatch:
    watch = RunWatch(Thresholds(**thresholds))
    watch.begin(total_steps=total or STEPS * len(returns), is_fresh=is_fresh)
    for place, value in enumerate(returns, start=1):
        watch.take_return(STEPS * place, value)
    return watch


def noisy(mean: float, count: int, *, spread: float = 10.0, seed: int = 1) -> list[float]:
    chance = random.Random(seed)
    return [chance.gauss(mean, spread) for _ in range(count)]


def rising(low: float, high: float, count: int) -> list[float]:
    return [low + (high - low) * place / count + noise for place, noise in enumerate(noisy(0, count))]


def test_a_return_that_falls_by_half_of_what_was_gained_has_collapsed():
    watch = watched([*rising(20, 400, 1000), *noisy(150, 300)])
    finding = watch.found["collapse"]
    assert set(watch.found) == {"collapse"}
    assert "it had begun at" in finding.text
    assert STEPS * 1100 < finding.global_step < STEPS * 1300


def test_how_much_must_be_lost_can_be_set():
    returns = [*rising(20, 400, 1000), *noisy(150, 300)]
    assert "collapse" not in watched(returns, collapse=0.9).found
    assert "collapse" in watched([*rising(20, 400, 1000), *noisy(330, 300)], collapse=0.1).found


@pytest.mark.parametrize(
    "returns",
    [
        pytest.param([*rising(20, 400, 1000), *noisy(390, 2000)], id="learnt, and stays"),
        pytest.param([*rising(20, 400, 1000), *noisy(0, 90), *noisy(390, 500)], id="a short dip"),
        pytest.param([*noisy(0, 100), *rising(0, 30, 900), *noisy(20, 400, spread=60)], id="noise"),
        pytest.param([1.0] * 150, id="too few episodes"),
        pytest.param([], id="none"),
    ],
)
def test_what_is_no_collapse_and_no_lack_of_progress(returns):
    assert watched(returns).found == {}


@pytest.mark.parametrize("seed", range(5))
def test_returns_that_never_rise_are_no_progress(seed):
    watch = watched(noisy(-100, 1500, seed=seed))
    assert set(watch.found) == {"no_progress"}
    assert "of 30,000 steps" in watch.found["no_progress"].text


def test_no_progress_is_asked_once_a_share_of_the_steps_is_done():
    assert watched([0.0] * 700, total=STEPS * 1500).found == {}
    assert "no_progress" in watched([0.0] * 700, total=STEPS * 1500, no_progress=0.2).found


def test_a_resumed_attempt_may_begin_at_its_best():
    assert watched([500.0] * 1000, is_fresh=False).found == {}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_return_or_a_loss_that_is_no_number_is_found_once(value):
    watch = watched([1.0] * 50)
    watch.take_odd("losses/explained_variance", 5, value)
    watch.take_odd("charts/SPS", 5, value)
    assert watch.found == {}
    watch.take_odd("losses/value_loss", 7, value)
    watch.take_return(9, value)
    assert watch.found["nan"].text == f"losses/value_loss is {value} at step 7"


def test_what_is_found_does_not_depend_on_restarts():
    returns = [*rising(20, 400, 1000), *noisy(150, 300)]
    whole = watched(returns)
    pieced = watched(returns[:0], total=STEPS * len(returns))
    for place, value in enumerate(returns, start=1):
        pieced.take_return(STEPS * place, value)
        if place % 37 == 0:
            kept = config.from_json(WatchState, config.to_json(pieced.state()))
            pieced.restore(kept)
    assert pieced.found.keys() == whole.found.keys()
    assert abs(pieced.found["collapse"].global_step - whole.found["collapse"].global_step) <= STEPS


def test_returns_too_large_for_their_sum_stop_nothing():
    assert watched([1e308, -1e308] * 300).found.keys() <= {"no_progress"}
