"""What is proposed next: from our own file alone, whatever was killed in between."""

import math
from typing import Any

import pytest

from mosaic.sweep import importance, optuna_trials, proposals, sweep_plan
from mosaic.sweep.optuna_journal import NotExported, write_journal
from mosaic.sweep.sweep_plan import SweepPlan
from mosaic.sweep.sweep_state import SweepState

SPACE = [
    {"name": "learning_rate", "low": 1e-5, "high": 1e-2, "scale": "log"},
    {"name": "gamma", "low": 0.9, "high": 0.9999, "scale": "logit"},
    {"name": "num_steps", "low": 32, "high": 2048, "scale": "power_of_two", "whole": True},
    {"name": "anneal_lr", "choices": [True, False]},
    {"name": "ent_coef", "low": 1e-5, "high": 0.1, "scale": "log"},
]
DEFAULTS = {"learning_rate": 2.5e-4, "gamma": 0.99, "num_steps": 128, "anneal_lr": True, "ent_coef": 0.0}


def plan(**changes: Any) -> SweepPlan:
    worker = {"algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": 1000}
    made: dict[str, Any] = {
        "document": {"environment": {"env_id": "CartPole-v1"}, "metadata": {"worker": {"config": worker}}},
        "space": SPACE,
        "defaults": DEFAULTS,
    }
    return sweep_plan.parse({**made, **changes})


def worth(params: dict[str, Any]) -> float:
    """Best at a learning rate of 0.001; the rest matters little."""
    return -((math.log10(params["learning_rate"]) + 3) ** 2) - 0.01 * params["gamma"]


def add(state: SweepState, params: dict[str, Any], end: str = "finished") -> None:
    number = len(state.trials)
    state.apply({"kind": "asked", "trial": number, "params": params})
    if end != "running":
        value = worth(params) if end == "finished" else None
        state.apply({"kind": "told", "trial": number, "seed": 1, "end": end, "value": value})


def explored(count: int, **changes: Any) -> SweepState:
    state = SweepState(plan(**changes))
    add(state, dict(DEFAULTS))
    maker = proposals.proposals_of(state.plan)
    while len(state.trials) < count:
        params = maker.ask(state)
        assert params is not None
        add(state, params, "failed" if len(state.trials) % 7 == 6 else "finished")
    return state


def test_a_controller_that_was_killed_proposes_what_the_one_before_would_have_proposed() -> None:
    state = explored(14)
    add(state, {**DEFAULTS, "gamma": 0.95}, "running")
    first, second = (proposals.proposals_of(state.plan).ask(state) for _ in range(2))
    assert first == second
    assert first not in [trial.params for trial in state.trials]


def test_values_are_those_of_the_settings() -> None:
    state = explored(12, method="random")
    for trial in state.trials[1:]:
        assert trial.params["num_steps"] in (32, 64, 128, 256, 512, 1024, 2048)
        assert 0.9 <= trial.params["gamma"] <= 0.9999
        assert isinstance(trial.params["anneal_lr"], bool)
        assert trial.params["learning_rate"] == float(f"{trial.params['learning_rate']:.4g}")


def test_tpe_comes_nearer_to_the_best_than_chance() -> None:
    """The mean over the last trials, which the first ones taught it."""
    last = {}
    for method in ("tpe", "random"):
        state = explored(40, method=method)
        found = [trial.value for trial in state.trials[-15:] if trial.value is not None]
        last[method] = sum(found) / len(found)
    assert last["tpe"] > last["random"]


def test_one_trial_in_three_is_drawn_at_random_whatever_came_before() -> None:
    """Two sweeps with the same seed of proposals, one of which learnt that a low rate is best, the other a high one."""
    asked: dict[str, list[Any]] = {"minimize": [], "maximize": []}
    for goal, params in asked.items():
        state = SweepState(plan(goal=goal))
        add(state, dict(DEFAULTS))
        maker = proposals.proposals_of(state.plan)
        for number in range(1, 24):
            rate = 10 ** (-5 + 3 * number / 24)
            state.apply({"kind": "asked", "trial": number, "params": {**DEFAULTS, "learning_rate": rate}})
            state.apply({"kind": "told", "trial": number, "seed": 1, "end": "finished", "value": math.log10(rate)})
        for _ in range(6):
            params.append(maker.ask(state))
            add(state, params[-1], "failed")
    same = [low == high for low, high in zip(*asked.values(), strict=True)]
    assert same == [True, False, False, True, False, False]


def test_default_settings_outside_the_space_count_as_its_limit() -> None:
    state = SweepState(plan())
    add(state, dict(DEFAULTS))
    params = optuna_trials.params_of(state.trials[0], state.plan.space)
    assert params is not None
    assert params["ent_coef"] == 1e-5
    assert params["num_steps"] == 7
    add(state, {**DEFAULTS, "anneal_lr": None})
    assert optuna_trials.params_of(state.trials[1], state.plan.space) is None


def test_optunas_units_and_back() -> None:
    for one in plan().space:
        for value in one.values or (one.low, one.high):
            assert optuna_trials.to_value(one, optuna_trials.from_value(one, value)) == pytest.approx(value)


def test_a_grid_goes_through_every_combination_once() -> None:
    grid = [{"name": "gamma", "choices": [0.9, 0.99]}, {"name": "num_envs", "choices": [1, 2]}]
    state = SweepState(plan(space=grid, defaults={"gamma": 0.9, "num_envs": 1}, method="grid"))
    add_grid(state)
    assert len(state.trials) == 4
    assert len({repr(trial.params) for trial in state.trials}) == 4


def add_grid(state: SweepState) -> None:
    params: Any = dict(state.plan.defaults)
    while params is not None:
        state.apply({"kind": "asked", "trial": len(state.trials), "params": params})
        params = proposals.proposals_of(state.plan).ask(state)


def test_a_small_space_is_exhausted_not_repeated() -> None:
    few = [{"name": "gamma", "choices": [0.9, 0.99]}, {"name": "num_envs", "choices": [1, 2]}]
    for method in ("tpe", "random"):
        state = SweepState(plan(space=few, defaults={"gamma": 0.5, "num_envs": 1}, method=method))
        add_grid(state)
        assert len({repr(trial.params) for trial in state.trials}) == len(state.trials) == 5, method


def test_importance_finds_the_setting_that_matters() -> None:
    state = explored(40, method="random")
    shares = importance.importances(state)
    assert next(iter(shares)) == "learning_rate"
    assert sum(shares.values()) == pytest.approx(1.0)


def test_few_trials_have_no_importance_and_say_so() -> None:
    state = explored(4)
    assert importance.importances(state) == {}
    assert "takes 8 trials" in importance.why_unknown(state)


def test_the_journal_opens_in_optuna_with_every_trial(tmp_path: Any) -> None:
    import optuna
    from optuna.storages.journal import JournalFileBackend

    state = explored(9)
    add(state, {**DEFAULTS, "gamma": 0.95}, "running")
    state.trials[3].runs[1].end = "pruned"
    file = tmp_path / "sweep.log"
    assert write_journal(state, file, name="a sweep") == 10
    study = optuna.load_study(
        study_name="a sweep", storage=optuna.storages.JournalStorage(JournalFileBackend(str(file)))
    )
    assert len(study.trials) == 10
    assert study.trials[1].params == state.trials[1].params
    assert [trial.state.name for trial in study.trials].count("PRUNED") == 1
    best = state.best
    assert best is not None
    assert study.best_value == best.value
    with pytest.raises(NotExported, match="is there already"):
        write_journal(state, file, name="a sweep")
