"""What the files of a sweep tell: trials, pruning, budget, and the statement at the end."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from mosaic import config
from mosaic.cli.sweeps import sweep_table
from mosaic.sweep import budget, confirmation, pruning, sweep_dir, sweep_plan, sweep_state
from mosaic.sweep.sweep_dir import SweepDamaged, SweepDir
from mosaic.sweep.sweep_plan import SweepPlan
from mosaic.sweep.sweep_state import SweepState
from mosaic.sweep.trial_log import HasController, TrialLog, only_controller

ULID = "01K9CG05J5Y0FFQMT1T920EZK2"
Lines = list[dict[str, Any]]


def plan(**changes: Any) -> SweepPlan:
    worker = {"algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": 1000}
    made: dict[str, Any] = {
        "document": {"environment": {"env_id": "CartPole-v1"}, "metadata": {"worker": {"config": worker}}},
        "space": [{"name": "gamma", "low": 0.9, "high": 0.99}],
        "defaults": {"gamma": 0.9},
        "created_at": 1000.0,
    }
    return sweep_plan.parse({**made, **changes})


def asked(number: int, gamma: float) -> dict[str, Any]:
    return {"kind": "asked", "trial": number, "params": {"gamma": gamma}}


def told(number: int, value: float | None, *, seed: int = 1, end: str = "finished", **more: Any) -> dict[str, Any]:
    return {"kind": "told", "trial": number, "seed": seed, "end": end, "value": value, **more}


def fold(lines: Lines, requests: Lines | None = None, **changes: Any) -> SweepState:
    return sweep_state.fold(plan(**changes), lines, requests or [])


def values(*found: float) -> Lines:
    return [line for at, value in enumerate(found) for line in (asked(at, 0.9 + at / 1000), told(at, value))]


def test_a_trial_is_the_mean_over_its_seeds_once_all_have_ended() -> None:
    lines = [asked(0, 0.9), told(0, 10.0, seed=1)]
    state = fold(lines, seeds=[1, 2])
    assert state.trials[0].state == "running"
    state.apply(told(0, 20.0, seed=2))
    assert (state.trials[0].state, state.trials[0].value) == ("finished", 15.0)


def test_trials_have_seeds_of_their_own_where_the_user_names_none() -> None:
    state = fold([asked(0, 0.9), asked(1, 0.95)], own_seeds=2)
    assert [list(trial.runs) for trial in state.trials] == [[1001, 1002], [1003, 1004]]
    assert state.plan.value_title == "value (mean, n = 2)"
    assert state.plan.trial_steps == 2000
    same = fold([asked(0, 0.9), asked(1, 0.95)], seeds=[3])
    assert [list(trial.runs) for trial in same.trials] == [[3], [3]]


def test_one_failed_seed_makes_a_failed_trial() -> None:
    state = fold([asked(0, 0.9), told(0, 1.0), told(0, None, seed=2, end="failed", reason="NaN")], seeds=[1, 2])
    assert (state.trials[0].state, state.trials[0].value, state.trials[0].reason) == ("failed", None, "NaN")


def test_a_trial_that_rests_with_its_sweep_is_not_shown_as_running() -> None:
    lines = [asked(0, 0.9), {"kind": "submitted", "trial": 0, "seed": 1, "run_id": ULID}]
    assert fold(lines).trials[0].shown_state == "running"
    assert fold([*lines, {"kind": "held", "trial": 0, "seed": 1}]).trials[0].shown_state == "paused"
    stopped = fold([*lines, {"kind": "stopped", "trial": 0, "seed": 1}]).trials[0]
    assert (stopped.shown_state, stopped.state) == ("stopped", "running")
    assert fold([*lines, told(0, 1.0)]).trials[0].shown_state == "finished"


def test_the_ranking_goes_by_the_goal_and_has_each_setting_once() -> None:
    lines = [*values(5.0, 9.0, 7.0), asked(3, 0.901), told(3, 8.0)]
    assert [trial.number for trial in fold(lines).ranking()] == [1, 2, 0]
    assert [trial.number for trial in fold(lines, goal="minimize").ranking()] == [0, 2, 3]


def test_a_line_of_a_newer_version_is_left_out() -> None:
    assert fold([{"kind": "from the future"}, *values(1.0)]).trials[0].value == 1.0


def test_pauses_and_the_time_after_the_end_do_not_count_as_hours() -> None:
    lines = [
        {"kind": "heard", "request": 1, "verb": "pause", "at": 1100.0},
        {"kind": "heard", "request": 2, "verb": "continue", "at": 1400.0},
    ]
    assert budget.elapsed_s(fold(lines), 1500.0) == 200.0
    assert budget.elapsed_s(fold(lines[:1]), 1500.0) == 100.0
    assert fold(lines[:1]).phase == "paused"
    assert fold(lines).phase == "exploring"


def test_a_controller_is_needed_for_work_for_requests_and_to_hold_runs() -> None:
    pause = {"kind": "heard", "request": 1, "verb": "pause", "at": 1.0}
    opened = [asked(0, 0.9), {"kind": "submitted", "trial": 0, "seed": 1, "run_id": "x"}]
    assert fold([]).needs_controller
    assert fold([*opened, pause], [{"request": 1}]).needs_controller
    assert not fold([*opened, pause, {"kind": "held", "trial": 0, "seed": 1}], [{"request": 1}]).needs_controller
    ended = {"kind": "ended", "end": "finished"}
    assert not fold([*values(1.0), ended]).needs_controller
    assert fold([*values(1.0), ended], [{"request": 1, "verb": "resume"}]).needs_controller


def test_budgets_end_the_exploring() -> None:
    state = fold([line | {"steps": 1000} if line["kind"] == "told" else line for line in values(1.0, 2.0)], trials=2)
    assert budget.is_spent(state, now=1000.0, parallel=1) == "2 trials"
    state.plan = plan(steps=38_000)
    assert not budget.is_spent(state, now=1000.0, parallel=1)
    state.plan = plan(steps=37_500)
    assert budget.is_spent(state, now=1000.0, parallel=1) == "37,500 steps"
    state.plan = plan(hours=1)
    assert not budget.is_spent(state, now=1000.0, parallel=1)
    assert budget.is_spent(state, now=1000.0 + 3600, parallel=1) == "1 hours"


def test_a_sweep_that_only_fails_is_given_up() -> None:
    lines = [line for at in range(10) for line in (asked(at, 0.9), told(at, None, end="failed", reason="no GPU"))]
    assert "10 trials in a row failed, the last one: no GPU" in budget.hopeless(fold(lines))
    assert not budget.hopeless(fold([*lines, asked(10, 0.9), told(10, 1.0)]))


def reported(number: int, step: int, value: float) -> dict[str, Any]:
    return {"kind": "reported", "trial": number, "seed": 1, "step": step, "value": value}


def test_the_median_stops_a_trial_once_five_came_through() -> None:
    lines: Lines = []
    for at in range(5):
        lines += [asked(at, 0.9 + at / 100), reported(at, 400, float(at)), told(at, float(at))]
    lines += [asked(5, 0.98), reported(5, 400, 1.9)]
    state = fold(lines, prune="median")
    assert pruning.rungs(state.plan) == [400, 600, 800]
    assert pruning.stop_at(state, state.trials[5]) == 400
    better = fold([*lines[:-1], reported(5, 400, 2.1)], prune="median")
    assert pruning.stop_at(better, better.trials[5]) is None
    lower = fold(lines, prune="median", goal="minimize")
    assert pruning.stop_at(lower, lower.trials[5]) is None


def test_hyperband_keeps_the_best_third_and_never_stops_the_default() -> None:
    lines: Lines = []
    for at in range(9):
        lines += [asked(at, 0.9 + at / 100), reported(at, 37, float(at))]
    state = fold(lines, prune="hyperband")
    assert pruning.rungs(state.plan) == [37, 111, 333]
    stopped = [trial.number for trial in state.trials if pruning.stop_at(state, trial) is not None]
    early = [number for number in range(9) if pruning.bracket(number, 3) == 0]
    assert stopped == [number for number in early if number < 6 and number > 0]
    assert 0 not in stopped


def test_halving_lets_the_best_third_go_on_once_five_others_came() -> None:
    lines: Lines = []
    for at in range(8):
        lines += [asked(at, 0.9 + at / 100), reported(at, 250, float(10 - at))]
    state = fold(lines, prune="halving")
    assert pruning.rungs(state.plan) == [250, 500]
    assert [trial.number for trial in state.trials if pruning.stop_at(state, trial)] == [2, 3, 4, 5, 6, 7]
    fewer = fold(lines[:-6], prune="halving")
    assert not any(pruning.stop_at(fewer, trial) for trial in fewer.trials)


def test_a_run_that_is_nearly_done_is_not_stopped() -> None:
    assert pruning.saves_steps(plan(), 899)
    assert not pruning.saves_steps(plan(), 900)


def test_brackets_are_mixed_and_early_ones_are_more_frequent() -> None:
    found = [pruning.bracket(number, 3) for number in range(100)]
    assert found.count(0) > found.count(1) > found.count(2) > found.count(3) > 0
    assert len(set(found[:10])) == 4


def confirmed(*scores: list[float]) -> SweepState:
    lines = values(*(float(at) for at in range(len(scores))))
    lines.append({"kind": "confirm", "trials": list(range(len(scores))), "seeds": list(range(101, 111))})
    for number, found in enumerate(scores):
        lines += [told(number, score, seed=101 + at) for at, score in enumerate(found)]
    return fold([*lines, {"kind": "ended", "end": "finished"}])


def test_the_best_five_and_the_default_are_confirmed() -> None:
    state = fold(values(3.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0))
    assert confirmation.chosen(state) == [1, 2, 3, 4, 5]
    assert confirmation.chosen(fold([asked(0, 0.9), told(0, None, end="failed"), asked(1, 0.95), told(1, 1.0)])) == [1]
    assert confirmation.chosen(fold(values(1.0, 2.0), confirm_best=0)) == []


def test_the_default_alone_is_not_confirmed_and_the_end_says_so() -> None:
    lines = [asked(0, 0.9), told(0, 1.0), asked(1, 0.95), told(1, None, end="failed")]
    assert confirmation.chosen(fold(lines)) == []
    state = fold([*lines, {"kind": "confirm", "trials": [], "seeds": []}, {"kind": "ended", "end": "finished"}])
    assert "no settings but the default ended well" in confirmation.statement(state)
    assert confirmation.statement(fold(lines, confirm_best=0)) == ""


def test_the_statement_names_n_interval_and_probability() -> None:
    state = confirmed([1.0 + at for at in range(10)], [101.0 + at for at in range(10)])
    said = confirmation.statement(state)
    assert "Trial 1: IQM 105.5 [" in said
    assert "over 10 fresh seeds" in said
    assert "beats one of the default with probability 1.00 [" in said
    assert "chance" not in said


def test_settings_that_are_no_better_are_said_to_be_so() -> None:
    same = [1.0 + at for at in range(10)]
    assert "which may be chance" in confirmation.statement(confirmed(same, [score + 0.1 for score in same]))
    assert "no others did better" in confirmation.statement(confirmed([s + 9 for s in same], same))


def test_the_best_of_five_equal_settings_is_rarely_called_better() -> None:
    """An interval of one comparison would do so in 9 of 100 sweeps."""
    draws, said = random.Random(0), 0
    for _ in range(100):
        found = confirmation.results(confirmed(*([draws.gauss(0, 1) for _ in range(10)] for _ in range(6))))
        said += found[0].is_surely_better
    assert said / 100 < 0.05


def test_one_setting_needs_less_to_be_called_better_than_the_best_of_five() -> None:
    default, better = [float(at) for at in range(10)], [at + 4.0 for at in range(10)]
    assert "chance" not in confirmation.statement(confirmed(default, better))
    others = [[at - 20.0 for at in range(10)] for _ in range(4)]
    assert "may be chance: it is the best of 5" in confirmation.statement(confirmed(default, better, *others))


def test_seeds_that_failed_are_counted_in_the_statement() -> None:
    state = confirmed([1.0 + at for at in range(10)], [101.0 + at for at in range(8)])
    for seed in (109, 110):
        state.apply(told(1, None, seed=seed, end="failed"))
    assert "over 8 fresh seeds (2 more failed)" in confirmation.statement(state)


def test_settings_of_which_most_seeds_fail_do_not_win_by_the_few_that_did_well() -> None:
    state = confirmed([1.0 + at for at in range(10)], [99.0], [2.0 + at for at in range(10)])
    for seed in range(102, 111):
        state.apply(told(1, None, seed=seed, end="failed"))
    assert [one.trial.number for one in confirmation.results(state)] == [2, 0, 1]


def test_small_scores_are_printed_with_digits_that_tell_them_apart() -> None:
    state = confirmed([0.101 + at / 1000 for at in range(10)], [0.201 + at / 1000 for at in range(10)])
    assert "IQM 0.206 [" in confirmation.statement(state)
    assert fold(values(0.12, 0.13)).value_spec == ".4f"
    assert fold(values(200.0, 130.0)).value_spec == ".1f"


def test_reasons_of_failed_trials_are_told_once_each() -> None:
    refused = [told(at, None, end="failed", reason="refused: too long") for at in (1, 3)]
    lines = [asked(at, 0.9 + at / 1000) for at in range(5)]
    lines += [told(0, 1.0), *refused, told(2, None, end="failed", reason="the run was deleted")]
    shown = sweep_table.trial_lines(fold(lines))
    assert shown[-2:] == ["trials 1, 3: refused: too long", "trial 2: the run was deleted"]
    assert "trial" not in sweep_table.trial_lines(fold(values(1.0, 2.0)))[-1]


def test_few_seeds_have_no_interval() -> None:
    state = confirmed([1.0, 2.0], [3.0, 4.0])
    assert "no interval" in confirmation.statement(state)


def test_the_fewer_seeds_of_two_decide_what_is_said_of_their_comparison() -> None:
    state = confirmed([1.0 + at for at in range(6)], [101.0 + at for at in range(10)])
    assert "rough" in next(one.improvement_text for one in confirmation.results(state) if one.trial.number)


@pytest.fixture
def sweep(tmp_path: Path) -> SweepDir:
    made = SweepDir(tmp_path / ULID)
    made.root.mkdir()
    made.plan.write_text(json.dumps(config.to_json(plan())))
    return made


def test_a_torn_line_counts_as_not_written(sweep: SweepDir) -> None:
    log = TrialLog(sweep)
    log.write("asked", trial=0, params={"gamma": 0.9})
    log.close()
    with sweep.trials.open("ab") as file:
        file.write(b'{"kind":"asked","trial":1,"par')
    assert len(sweep_state.read(sweep).trials) == 1
    again = TrialLog(sweep)
    again.write("asked", trial=1, params={"gamma": 0.95})
    again.close()
    assert [trial.params["gamma"] for trial in sweep_state.read(sweep).trials] == [0.9, 0.95]


def test_a_damaged_line_is_named(sweep: SweepDir) -> None:
    sweep.trials.write_bytes(b'{"kind":"warning","text":"x"}\nnot json\n{"kind":"warning","text":"y"}\n')
    with pytest.raises(SweepDamaged, match="line 2"):
        sweep_state.read(sweep)


def test_a_sweep_has_one_controller(sweep: SweepDir) -> None:
    assert not sweep.has_controller
    with only_controller(sweep):
        assert sweep.has_controller
        with pytest.raises(HasController), only_controller(sweep):
            pass
    assert not sweep.has_controller


def test_requests_are_numbered_in_their_order(sweep: SweepDir) -> None:
    assert [sweep_dir.ask(sweep, "pause"), sweep_dir.ask(sweep, "resume", [3])] == [1, 2]
    assert sweep_state.read(sweep).asked == 2
