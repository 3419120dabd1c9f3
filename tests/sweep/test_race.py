"""The race of a confirmation: who gets further seeds, by event histories alone."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from mosaic.sweep import confirmation, race, race_decision, race_rounds, sweep_plan, sweep_state
from mosaic.sweep.race_rounds import Round
from mosaic.sweep.sweep_plan import SweepPlan
from mosaic.sweep.sweep_state import SweepState

Lines = list[dict[str, Any]]
Scores = Sequence[Sequence[float | None]]
"""Of each trial with each fresh seed; None is a seed that fails."""
SEEDS = tuple(range(101, 111))


def plan(**changes: Any) -> SweepPlan:
    worker = {"algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": 1000}
    made: dict[str, Any] = {
        "document": {"environment": {"env_id": "CartPole-v1"}, "metadata": {"worker": {"config": worker}}},
        "space": [{"name": "gamma", "low": 0.9, "high": 0.99}],
        "defaults": {"gamma": 0.9},
    }
    return sweep_plan.parse({**made, **changes})


def fold(lines: Lines, **changes: Any) -> SweepState:
    return sweep_state.fold(plan(**changes), lines, [])


def told(number: int, value: float | None, seed: int = 1) -> dict[str, Any]:
    end = "finished" if value is not None else "failed"
    return {"kind": "told", "trial": number, "seed": seed, "end": end, "value": value}


def explored(trials: int, **changes: Any) -> Lines:
    """Trials of which each is a little better than the one before, and the choice of those to confirm."""
    lines: Lines = []
    for at in range(trials):
        lines += [{"kind": "asked", "trial": at, "params": {"gamma": 0.9 + at / 1000}}, told(at, float(at))]
    state = fold(lines, **changes)
    numbers, seeds = race.first(state.plan, confirmation.chosen(state))
    return [*lines, {"kind": "confirm", "trials": numbers, "seeds": seeds}]


def raced(scores: Scores, **changes: Any) -> Lines:
    """The whole history of a sweep whose confirmation gives these scores."""
    lines = explored(len(scores), **changes)
    state = fold(lines, **changes)
    while True:
        for numbers, seeds in race_decision.due(state):
            lines.append({"kind": "confirm", "trials": numbers, "seeds": seeds})
            state.apply(lines[-1])
        opened = [(trial, run) for trial, run in state.open_runs if run.seed in SEEDS]
        if not opened:
            return [*lines, {"kind": "ended", "end": "finished"}]
        for trial, run in opened:
            lines.append(told(trial.number, scores[trial.number][SEEDS.index(run.seed)], run.seed))
            state.apply(lines[-1])


def level(at: float) -> list[float]:
    """Ten scores around it."""
    return [at + step / 10 for step in range(10)]


def seeds_of(state: SweepState) -> list[int]:
    return [len(trial.confirmed) for trial in state.trials]


@pytest.mark.parametrize(
    ("settings", "seeds", "expected"),
    [
        (5, 10, [(5, 2), (3, 4), (2, 7), (1, 10)]),
        (1, 10, [(1, 10)]),
        (2, 10, [(2, 7), (1, 10)]),
        (5, 3, [(5, 2), (1, 3)]),
        (3, 1, [(3, 1)]),
        (20, 10, [(20, 2), (10, 4), (5, 7), (1, 10)]),
        (0, 10, []),
    ],
)
def test_rounds_halve_the_settings_and_add_seeds(settings: int, seeds: int, expected: list[tuple[int, int]]) -> None:
    assert race_rounds.rounds(settings, seeds) == [Round(*one) for one in expected]


def test_more_settings_never_cost_fewer_runs() -> None:
    costs = [race_rounds.runs(race_rounds.rounds(settings, 10)) for settings in range(30)]
    assert costs == sorted(costs)
    assert costs[5] == 10 + 6 + 6 + 3


def test_the_budget_sets_aside_what_the_race_takes_at_most() -> None:
    assert plan().confirm_runs == 25 + 10
    assert plan(race=False).confirm_runs == 60
    assert plan(runs=100).most_trials == 65
    assert plan(confirm_best=0).confirm_runs == 0


def test_the_winner_and_the_default_have_all_seeds_and_the_others_fall_behind() -> None:
    state = fold(raced([level(0), level(1), level(5), level(2), level(4), level(3)]))
    assert seeds_of(state) == [10, 2, 10, 2, 7, 4]
    assert [one.trial.number for one in confirmation.results(state)] == [2, 0, 4, 5, 3, 1]
    said = confirmation.statement(state)
    assert said.startswith("Trial 2: IQM 5.45 [")
    assert "over 10 fresh seeds; the default: IQM" in said
    assert said.endswith("4 others were dropped after 2 to 7 seeds.")
    assert race.planned_runs(state) == sum(seeds_of(state)) == 35


def test_without_a_race_all_have_all_seeds() -> None:
    state = fold(raced([level(at) for at in range(6)], race=False), race=False)
    assert seeds_of(state) == [10] * 6
    assert race.planned_runs(state) == 60
    assert "dropped" not in confirmation.statement(state)


def test_less_may_be_better() -> None:
    changes = {"goal": "minimize", "confirm_best": 3}
    state = fold(raced([level(9), level(3), level(1), level(2)], **changes), **changes)
    assert seeds_of(state)[2] == 10
    assert confirmation.results(state)[0].trial.number == 2


def test_a_controller_that_was_killed_decides_as_the_one_before_it_would_have() -> None:
    lines = raced([level(at % 4) for at in range(6)])
    first = next(at for at, line in enumerate(lines) if line["kind"] == "confirm")
    later = [at for at, line in enumerate(lines) if line["kind"] == "confirm" and at > first]
    assert len(later) == 4
    for at in later:
        asked = race_decision.due(fold(lines[:at]))
        assert asked[0] == (lines[at]["trials"], lines[at]["seeds"])
    for at in range(first + 1, len(lines)):
        # What was asked for and is not over keeps its place; no seed is asked for twice.
        state = fold(lines[:at])
        for numbers, seeds in race_decision.due(state):
            assert not any(seed in state.trials[number].confirmed for number in numbers for seed in seeds)
    assert race_decision.due(fold(lines)) == []


def test_no_round_begins_before_the_one_before_is_over_and_none_waits_for_the_default() -> None:
    state = fold(explored(6))
    [(numbers, seeds)] = race_decision.due(state)
    assert (numbers, seeds) == ([0], [*SEEDS])
    state.apply({"kind": "confirm", "trials": numbers, "seeds": seeds})
    opened = [(trial.number, run.seed) for trial, run in state.open_runs if trial.number]
    assert len(opened) == 10
    for number, seed in opened:
        assert race_decision.due(state) == []
        state.apply(told(number, float(number), seed))
    assert all(run.end == "open" for run in state.trials[0].confirmed.values())
    assert race_decision.due(state) == [([3, 4, 5], [103, 104])]


def test_a_run_that_was_stopped_with_its_sweep_holds_its_round() -> None:
    state = fold(explored(3))
    for trial, run in state.open_runs[:-1]:
        state.apply(told(trial.number, 1.0, run.seed))
    trial, run = state.open_runs[-1]
    state.apply({"kind": "stopped", "trial": trial.number, "seed": run.seed})
    assert [numbers for numbers, _ in race_decision.due(state)] == [[0]]


def test_seeds_that_fail_count_as_the_worst_score() -> None:
    state = fold(raced([level(0), [90.0, None, None] * 3 + [90.0], level(50), level(40), level(30), level(5)]))
    assert seeds_of(state)[1] < 10
    assert confirmation.results(state)[0].trial.number == 2


def test_one_that_fell_behind_never_stands_before_the_winner() -> None:
    """Few seeds of the dropped one say more than the ten of the winner, whose later ones are worse."""
    fades = [10.0] * 7 + [0.0] * 3
    state = fold(raced([[-50.0] * 10, level(1), fades, [9.0] * 10], confirm_best=3), confirm_best=3)
    found = confirmation.results(state)
    assert [one.trial.number for one in found] == [2, 0, 3, 1]
    assert [one.is_dropped for one in found] == [False, False, True, True]
    assert found[2].seeds_text == "7, dropped"
    assert found[2].as_json()["dropped"] is True


def test_a_default_that_failed_has_no_fresh_seeds() -> None:
    lines = explored(3)
    lines[1] = told(0, None)
    state = fold(lines)
    assert race_decision.due(state) == []
    assert race.planned_runs(state) == race_rounds.runs(race_rounds.rounds(2, 10))


def test_a_confirmation_from_before_there_were_races_is_over() -> None:
    lines = [*explored(4)[:-1], {"kind": "confirm", "trials": [0, 1, 2, 3], "seeds": [*SEEDS]}]
    lines += [told(number, float(number + seed), seed) for number in range(4) for seed in SEEDS]
    state = fold(lines)
    assert race_decision.due(state) == []
    assert not any(one.is_dropped for one in confirmation.results(state))


def test_the_winner_of_a_race_of_equal_settings_is_rarely_called_better() -> None:
    draws, said = random.Random(0), 0
    for _ in range(100):
        found = confirmation.results(fold(raced([[draws.gauss(0, 1) for _ in SEEDS] for _ in range(6)])))
        said += found[0].is_surely_better
    assert said / 100 < 0.05
