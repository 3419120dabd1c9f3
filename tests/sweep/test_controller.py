"""Sweeps with a real daemon, real controllers and real workers."""

import math
import os
import subprocess
import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from mosaic.rpc.client import Refused, Series
from mosaic.spec.states import RunState
from mosaic.sweep import confirmation, sweep_dir
from mosaic.sweep.sweep_state import SweepState
from mosaic.sweep.trial_score import score

from .conftest import Kit, SweepHome

RESTING = "resting:Resting-v0"
"""Two milliseconds a step of one environment."""


def runs_of(home: SweepHome, sweep_id: str) -> list[Any]:
    """Every run that the daemon has of a sweep."""
    with home.client as client:
        return [run for run in client.list() if f"sweep {sweep_id[-6:]}" in run.label]


def check_nothing_is_lost_or_doubled(home: SweepHome, sweep_id: str, trials: int) -> SweepState:
    """Each trial asked once, each seed told once, each result that of a run of these very settings."""
    lines = sweep_dir.read_lines(home.files(sweep_id).trials)
    asked = [line["trial"] for line in lines if line["kind"] == "asked"]
    told = [(line["trial"], line["seed"]) for line in lines if line["kind"] == "told"]
    assert asked == list(range(trials))
    assert sorted(told) == sorted(set(told))
    state = home.state(sweep_id)
    assert len(told) == len(state.runs)
    assert len({repr(trial.params) for trial in state.trials}) == trials
    with home.client as client:
        for trial, run in state.runs:
            config = client.read_json(run.run_id, "config.json")["metadata"]["worker"]["config"]
            assert config["seed"] == run.seed
            settings = config["extras"]["algo_params"]
            assert {name: settings[name] for name in trial.params} == trial.params
    return state


def test_a_sweep_explores_confirms_and_says_what_the_seeds_allow(shared: SweepHome, kit: type[Kit]) -> None:
    sweep_id = shared.submit(kit.plan(trials=3, confirm_best=2, confirm_seeds=[101, 102, 103]))
    shared.until(sweep_id, "finished")
    state = check_nothing_is_lost_or_doubled(shared, sweep_id, 3)
    assert state.trials[0].params == {"learning_rate": 0.0025}
    assert [trial.state for trial in state.trials] == ["finished"] * 3
    found = confirmation.results(state)
    assert sorted(one.trial.number for one in found) == [0, 1, 2]
    assert {one.trial.number: one.n for one in found}[0] == 3
    assert [(one.n, one.is_dropped) for one in found] == [(3, False), (3, False), (2, True)]
    assert "fresh seeds" in confirmation.statement(state)
    assert "1 other was dropped after 2 seeds" in confirmation.statement(state)
    assert len(runs_of(shared, sweep_id)) == 3 + 8
    # Runs of one name are a group of `mosaic stats`: the seed that chose is in none with those that confirm.
    name = f"sweep {sweep_id[-6:]}, trial 0"
    names = sorted(run.label for run in runs_of(shared, sweep_id) if run.label.startswith(name))
    assert names == [f"{name} confirmed, seed {seed}" for seed in (101, 102, 103)] + [f"{name}, seed 1"]
    # The value is what `mosaic stats` would say of the run.
    with shared.client as client:
        run = state.trials[0].runs[1]
        returns = client.metrics(run.run_id, tags=["charts/episodic_return"])["charts/episodic_return"].values
        assert run.value == pytest.approx(sum(returns[-100:]) / len(returns[-100:]))
    assert shared.controller(sweep_id) is None or kit.eventually(lambda: shared.controller(sweep_id) is None)


def test_a_submit_that_is_repeated_begins_one_sweep(shared: SweepHome, kit: type[Kit]) -> None:
    one, other = (shared.submit(kit.plan(trials=2), client_key="the same") for _ in range(2))
    assert one == other
    shared.until(one, "finished")


def test_killed_in_any_order_nothing_is_lost_and_nothing_doubled(own_home: SweepHome, kit: type[Kit]) -> None:
    choices = [round(0.0001 * (at + 1), 6) for at in range(6)]
    plan = kit.plan(448, env_id=RESTING, trials=7, space=[{"name": "learning_rate", "choices": choices}], method="grid")
    sweep_id = own_home.submit(plan)

    def worker() -> int:
        with own_home.client as client:
            running = [run for run in client.list(states=["running"]) if run.pid and run.global_step]
            return running[0].pid if running else 0

    for order in permutations(("daemon", "controller", "worker")):
        pid = kit.eventually(worker, what=f"a worker, before {order}")
        kit.eventually(lambda: own_home.controller(sweep_id), what="a controller")
        for who in order:
            if who == "daemon":
                own_home.kill_daemon()
            elif who == "controller":
                own_home.kill_controller(sweep_id)
            else:
                subprocess.run(["kill", "-9", str(pid)], check=False, stderr=subprocess.DEVNULL)
        # A client of this home comes along, as a user with `mosaic runs` would.
        own_home.client.close()
    own_home.until(sweep_id, "finished")
    state = check_nothing_is_lost_or_doubled(own_home, sweep_id, 7)
    assert [trial.state for trial in state.trials] == ["finished"] * 7
    assert [run.steps for _, run in state.runs] == [448] * 7


def test_a_controller_brings_a_killed_daemon_back_by_itself(own_home: SweepHome, kit: type[Kit]) -> None:
    sweep_id = own_home.submit(kit.plan(600, env_id=RESTING, trials=3))
    kit.eventually(lambda: own_home.controller(sweep_id) and own_home.state(sweep_id).open_runs, what="a run")
    own_home.kill_daemon()
    own_home.until(sweep_id, "finished")
    check_nothing_is_lost_or_doubled(own_home, sweep_id, 3)


def test_a_pruned_trial_keeps_its_checkpoint_and_is_resumed_to_its_end(shared: SweepHome, kit: type[Kit]) -> None:
    choices = [0.006, 0.005, 0.004, 0.003, 0.0001]
    plan = kit.plan(
        1600,
        env_id=RESTING,
        trials=6,
        parallel=1,
        prune="median",
        metric="charts/learning_rate",
        space=[{"name": "learning_rate", "choices": choices}],
        defaults={"learning_rate": 0.007},
    )
    plan["document"]["metadata"]["worker"]["config"]["extras"]["algo_params"]["anneal_lr"] = False
    sweep_id = shared.submit(plan)
    state = shared.until(sweep_id, "finished")
    assert [trial.state for trial in state.trials] == ["finished"] * 5 + ["pruned"]
    pruned = state.trials[5]
    run = pruned.runs[1]
    assert pruned.params == {"learning_rate": 0.0001}
    assert pruned.prune_step == 640
    assert 640 <= run.steps < 1600
    with shared.client as client:
        before = client.get(run.run_id)
        assert before.state is RunState.CANCELLED
        assert before.total_timesteps == 1600
        assert any(name.startswith("checkpoints/") for name in client.files(run.run_id))
    shared.control(sweep_id, "resume", 5)
    state = shared.until(sweep_id, "finished")
    assert (state.trials[5].state, state.trials[5].value) == ("finished", pytest.approx(0.0001))
    assert state.trials[5].runs[1].run_id == run.run_id
    with shared.client as client:
        after = client.get(run.run_id)
        assert (after.state, after.attempt) == (RunState.FINISHED, 2)
        assert after.global_step >= 1600


def test_pause_holds_the_runs_and_continue_goes_on(shared: SweepHome, kit: type[Kit]) -> None:
    sweep_id = shared.submit(kit.plan(1200, env_id=RESTING, trials=2, parallel=1))
    kit.eventually(lambda: shared.state(sweep_id).open_runs and shared.state(sweep_id).open_runs[0][1].run_id)
    shared.control(sweep_id, "pause")
    state = shared.until(sweep_id, "paused")
    kit.eventually(lambda: not shared.state(sweep_id).needs_controller, what="held runs")
    run_id = state.open_runs[0][1].run_id
    with shared.client as client:
        assert client.get(run_id).state is RunState.PAUSED
        with pytest.raises(Refused, match="is paused; pause is for one that is confirming or exploring"):
            client.control_sweep(sweep_id, "pause")
    kit.eventually(lambda: shared.controller(sweep_id) is None, what="the controller to leave")
    shared.control(sweep_id, "continue")
    state = shared.until(sweep_id, "finished")
    assert state.trials[0].runs[1].run_id == run_id
    check_nothing_is_lost_or_doubled(shared, sweep_id, 2)


def test_cancel_stops_at_a_checkpoint_and_resume_goes_on_from_it(shared: SweepHome, kit: type[Kit]) -> None:
    sweep_id = shared.submit(kit.plan(1600, env_id=RESTING, trials=2, parallel=1))

    def progress() -> str:
        opened = [run for _, run in shared.state(sweep_id).open_runs if run.run_id]
        with shared.client as client:
            return opened[0].run_id if opened and client.get(opened[0].run_id).global_step > 100 else ""

    run_id = kit.eventually(progress, what="steps")
    shared.control(sweep_id, "cancel")
    state = shared.until(sweep_id, "cancelled")
    assert [run.end for _, run in state.runs] == ["stopped"]
    with shared.client as client:
        assert client.get(run_id).state is RunState.CANCELLED
    shared.control(sweep_id, "resume")
    shared.until(sweep_id, "finished")
    state = check_nothing_is_lost_or_doubled(shared, sweep_id, 2)
    assert state.trials[0].runs[1].run_id == run_id
    with shared.client as client:
        assert client.get(run_id).attempt == 2


def test_a_metric_that_no_run_logs_is_told_after_the_first_trial(shared: SweepHome, kit: type[Kit]) -> None:
    sweep_id = shared.submit(kit.plan(trials=3, parallel=1, metric="charts/episodic_retrun"))
    state = shared.until(sweep_id, "failed")
    assert len(state.trials) == 1
    assert "has logged no 'charts/episodic_retrun'; it logs" in state.reason
    assert "charts/episodic_return" in state.reason


def test_settings_that_are_refused_make_a_failed_trial_and_the_sweep_goes_on(shared: SweepHome, kit: type[Kit]) -> None:
    space = [{"name": "num_minibatches", "choices": [1, 2, 4096]}]
    sweep_id = shared.submit(kit.plan(trials=4, space=space, defaults={"num_minibatches": 4}))
    state = shared.until(sweep_id, "finished")
    assert [trial.state for trial in state.trials] == ["finished", "finished", "finished", "failed"]
    assert "refused" in state.trials[3].reason
    assert "num-minibatches" in state.trials[3].reason


def test_default_settings_that_are_refused_are_told_at_once(shared: SweepHome, kit: type[Kit]) -> None:
    plan = kit.plan()
    plan["document"]["metadata"]["worker"]["config"]["extras"]["algo_params"]["num_minibatches"] = 4096
    with pytest.raises(Refused, match="num-minibatches"):
        shared.submit(plan)


def test_a_key_never_travels_with_a_plan(shared: SweepHome, kit: type[Kit]) -> None:
    plan = kit.plan()
    plan["document"]["metadata"]["worker"]["config"]["extras"]["wandb_api_key"] = "secret-key-0123456789"
    with pytest.raises(Refused, match="cannot travel with a sweep"):
        shared.submit(plan)
    folder = sweep_dir.sweeps_folder(shared.home)
    assert not any(b"secret-key" in path.read_bytes() for path in folder.rglob("*.json"))


def test_requests_that_make_no_sense_are_refused(shared: SweepHome, kit: type[Kit]) -> None:
    sweep_id = shared.submit(kit.plan(trials=2))
    shared.until(sweep_id, "finished")
    with shared.client as client:
        for verb, said in (
            ("pause", "is finished; pause is for one that is confirming or exploring"),
            ("continue", "is finished; continue is for one that is paused"),
            ("jump", "'jump' is not one of pause, continue, cancel, resume"),
        ):
            with pytest.raises(Refused, match=said):
                client.control_sweep(sweep_id, verb)
        with pytest.raises(Refused, match=r"trial 7 of sweep .* is not there, not pruned"):
            client.control_sweep(sweep_id, "resume", trials=[7])
        with pytest.raises(Refused, match="is finished, not pruned"):
            client.control_sweep(sweep_id, "resume", trials=[1])
        with pytest.raises(Refused, match="is not known"):
            client.sweep("01K9CG05J5Y0FFQMT1T920EZK2")


def test_a_paused_sweep_is_continued_before_its_pruned_trials_are_resumed(shared: SweepHome, kit: type[Kit]) -> None:
    """Its runs would stay paused while the sweep goes on."""
    sweep_id = shared.submit(kit.plan(trials=2))
    shared.until(sweep_id, "finished")
    lines = [{"kind": "asked", "trial": 2, "params": {"learning_rate": 0.5}}]
    lines += [{"kind": "told", "trial": 2, "seed": 1, "end": "pruned", "value": None}, {"kind": "hold", "reason": "x"}]
    with shared.files(sweep_id).trials.open("ab") as file:
        file.write(b"".join(map(sweep_dir.dumped, lines)))
    with shared.client as client, pytest.raises(Refused, match="is paused; continue it before"):
        client.control_sweep(sweep_id, "resume", trials=[2])


def test_a_damaged_sweep_stays_with_itself(shared: SweepHome, kit: type[Kit]) -> None:
    sweep_id = shared.submit(kit.plan(trials=2))
    shared.until(sweep_id, "finished")
    file = shared.files(sweep_id).trials
    file.write_bytes(b"not json\n" + file.read_bytes())
    with shared.client as client:
        listed = {one.sweep_id: one for one in client.sweeps()}
        assert "line 1" in listed[sweep_id].damage
        assert len(listed) > 1


class LoggedNothingButNan:
    """A client of a run whose returns are not numbers."""

    def metrics(self, run_id: str, *, tags: list[str], max_step: int = 0) -> dict[str, Series]:
        return {tags[0]: Series(tags[0], [1, 2], [1.0, math.nan], [0.0, 0.0], 2)}


def test_returns_that_are_not_numbers_have_no_score() -> None:
    client: Any = LoggedNothingButNan()
    found = score(client, "x", "charts/episodic_return")
    assert found.value is None
    assert not found.is_missing
    assert "1 of the last 2 points of charts/episodic_return are not finite numbers" in found.problem


def test_a_controller_loads_neither_torch_nor_what_it_does_not_need() -> None:
    code = "import sys, mosaic.sweep.__main__; print([m for m in ('torch', 'gymnasium', 'optuna') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_changed_algorithm_file_holds_the_sweep(own_home: SweepHome, kit: type[Kit], tmp_path: Path) -> None:
    file = tmp_path / "own_ppo.py"
    environment = {**os.environ, "MOSAIC_HOME": str(own_home.home.root)}
    mosaic = Path(sys.executable).parent / "mosaic"
    subprocess.run(
        [mosaic, "algos", "new", "own_ppo", "--from", "ppo", "--into", str(tmp_path)], env=environment, check=True
    )
    plan = kit.plan(600, env_id=RESTING, trials=4, parallel=1)
    plan["document"]["metadata"]["worker"]["config"]["algo"] = "own_ppo"
    sweep_id = own_home.submit(plan)
    kit.eventually(lambda: own_home.state(sweep_id).open_runs and own_home.state(sweep_id).code, what="the digest")
    kit.eventually(lambda: any(run.run_id for _, run in own_home.state(sweep_id).open_runs), what="a run")
    file.write_text(file.read_text() + "\n# A change.\n")
    state = own_home.until(sweep_id, "paused")
    assert "own_ppo.py has changed since the sweep began" in state.reason
    own_home.control(sweep_id, "continue")
    state = own_home.until(sweep_id, "finished")
    assert "the code was changed after trial" in state.warnings[0]
