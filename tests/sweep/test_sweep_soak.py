"""A sweep of 40 trials under kill -9: of the daemon, of its controller and of a worker, at random moments.

`MOSAIC_SWEEP_KILLS=20 pytest -m slow tests/sweep/test_sweep_soak.py` prints what was done. All counts of what went
wrong must be 0: a trial that is not there, one that is there twice, a run that was told twice.
"""

import os
import random
import signal
import time
from collections import Counter

import pytest

from mosaic.errors import MosaicError
from mosaic.sweep import sweep_dir

from .conftest import Kit, SweepHome

KILLS = int(os.environ.get("MOSAIC_SWEEP_KILLS", "20"))
SEED = int(os.environ.get("MOSAIC_SOAK_SEED", "1"))
TRIALS = 40


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_nothing_is_lost_or_doubled_in_forty_trials(own_home: SweepHome, kit: type[Kit]) -> None:
    space = [{"name": "learning_rate", "low": 1e-5, "high": 1e-2, "scale": "log"}]
    plan = kit.plan(61_440, trials=TRIALS, method="tpe", prune="median", space=space, confirm_best=0)
    plan["document"]["metadata"]["worker"]["config"]["extras"]["checkpoint_interval_steps"] = 4096
    sweep_id = own_home.submit(plan)
    choice, done = random.Random(SEED), Counter[str]()
    while done.total() < KILLS and own_home.state(sweep_id).phase == "exploring":
        time.sleep(choice.uniform(0.1, 2.0))
        for who in choice.sample(("daemon", "controller", "worker"), k=choice.choice((1, 1, 2, 3))):
            done[who] += _kill(own_home, sweep_id, who)
        # A user comes along; where a controller lives it would have come back without.
        own_home.client.close()
    state = own_home.until(sweep_id, "finished", timeout_s=1800)
    lines = sweep_dir.read_lines(own_home.files(sweep_id).trials)
    asked = [line["trial"] for line in lines if line["kind"] == "asked"]
    told = Counter((line["trial"], line["seed"]) for line in lines if line["kind"] == "told")
    again = sum(line["kind"] == "submitted" for line in lines) - TRIALS
    states = Counter(trial.state for trial in state.trials)
    print(f"\nkilled: {dict(done)}; runs begun again {again}; trials: {dict(states)}")
    assert asked == list(range(TRIALS))
    assert len(told) == TRIALS
    assert set(told.values()) == {1}
    assert len({repr(trial.params) for trial in state.trials}) == TRIALS
    assert states["failed"] == 0
    assert states["running"] == 0


def _kill(home: SweepHome, sweep_id: str, who: str) -> int:
    try:
        if who == "daemon":
            home.kill_daemon()
            return 1
        if who == "controller":
            return int(home.kill_controller(sweep_id))
        for _ in range(20):
            with home.client as client:
                pids = [run.pid for run in client.list(states=["running"]) if run.pid]
            if pids:
                os.kill(pids[0], signal.SIGKILL)
                return 1
            time.sleep(0.1)
        return 0
    except (KeyError, ValueError, ProcessLookupError, MosaicError):
        return 0  # It is just starting, or has just ended.
