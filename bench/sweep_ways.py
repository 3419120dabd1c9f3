"""Three ways to find settings with equal environment steps, judged by ten seeds that none of them has used.

`python -m bench.sweeps find --task CartPole-v1 --steps 20000 --runs 100` searches the algorithm's own space by a sweep
as `mosaic sweep` does it, by random search, and by Optuna as rl-zoo3 uses it: TPE, one new seed a trial, median
pruning, the best trial taken. All three try the default settings first, which rl-zoo3 does not. Everything lies in the
home (MOSAIC_HOME): with `--minutes 9` it pauses there, and the same command goes on.
"""

import argparse
import time
from typing import Any

import numpy as np

from mosaic import config
from mosaic.rpc.client import Client
from mosaic.spec.run_dir import Home
from mosaic.statistics import aggregates, stratified_bootstrap
from mosaic.sweep import confirmation, space
from mosaic.sweep.space import applied
from mosaic.sweep.sweep_plan import RETURN
from mosaic.sweep.sweep_reader import SweepReader
from mosaic.sweep.sweep_state import SweepState, Trial
from mosaic.sweep.trial_score import score

JUDGES = tuple(range(9001, 9011))
WAYS: dict[str, dict[str, Any]] = {
    "mosaic sweep": {"method": "tpe", "prune": "median"},
    "random search": {"method": "random", "prune": "none", "confirm_best": 0, "confirm_seeds": []},
    "as rl-zoo3": {"method": "tpe", "prune": "median", "confirm_best": 0, "confirm_seeds": []},
}
LOOK_S = 2.0
ENDED = ("finished", "failed", "cancelled")


class NotYet(Exception):
    """The minutes are over; the same command goes on."""


def add_flags(words: argparse.ArgumentParser) -> None:
    words.add_argument("--task", default="CartPole-v1")
    words.add_argument("--algo", default="ppo")
    words.add_argument("--steps", type=int, default=20_000, help="of a run")
    words.add_argument("--runs", type=int, default=100, help="so many times the steps of a run are spent by each way")
    words.add_argument("--repeat", type=int, default=0, help="seed of the proposals")
    words.add_argument("--minutes", type=float, default=1e6, help="pause then; the same command goes on")


def find(flags: argparse.Namespace) -> int:
    """0 if all ways are judged."""
    until = time.monotonic() + 60 * flags.minutes
    with Client(home=Home.resolve()) as client:
        for name, how in WAYS.items():
            try:
                print(
                    f"{flags.algo} {flags.task} {flags.steps:,}  {_judged_way(client, name, how, flags, until)}",
                    flush=True,
                )
            except NotYet:
                print(f"{name}: not yet; the same command goes on", flush=True)
                return 1
    return 0


def plan_of(algo: str, env_id: str, total_timesteps: int, **changes: Any) -> dict[str, Any]:
    worker = {"algo": algo, "env_id": env_id, "total_timesteps": total_timesteps, "extras": {"mode": "train"}}
    document = {
        "environment": {"env_id": env_id},
        "artifacts": {"tensorboard": {"enabled": False}},
        "metadata": {"worker": {"config": worker}},
    }
    return {"document": document, **changes}


def _judged_way(client: Client, name: str, how: dict[str, Any], flags: argparse.Namespace, until: float) -> str:
    schema = client.algorithms()[flags.algo].schema
    searched = space.default_space(schema)
    plan = plan_of(
        flags.algo,
        flags.task,
        flags.steps,
        space=[config.to_json(one) for one in searched],
        defaults={one.name: schema["properties"][one.name]["default"] for one in searched},
        steps=flags.runs * flags.steps,
        own_seeds=1,
        proposal_seed=flags.repeat,
        label=f"bench {name}",
        **how,
    )
    key = f"bench/{flags.algo}/{flags.task}/{flags.steps}/{flags.runs}/{flags.repeat}/{name}"
    state = _finished(client, client.submit_sweep(plan, client_key=key).sweep_id, until)
    results = confirmation.results(state)
    chosen = results[0].trial if results else state.best
    if chosen is None:
        return f"{name}: no trial ended well"
    spent = sum(run.steps for _, run in state.runs)
    trials = f"{len(state.trials)} trials, {sum(one.state == 'pruned' for one in state.trials)} of them pruned"
    return f"{name}: {trials}, {spent:,} steps; {_verdict(client, state, chosen, key)}"


def _verdict(client: Client, state: SweepState, chosen: Trial, key: str) -> str:
    runs = client.submit(applied(state.plan.document, chosen.params), seeds=JUDGES, client_key=f"{key}/judged")
    found = [score(client, run.run_id, RETURN).value for run in client.wait(*(run.run_id for run in runs))]
    values = [value for value in found if value is not None]
    iqm = stratified_bootstrap.interval([np.array(values)], aggregates.iqm)
    mean = f"mean {np.mean(values):.1f} (n = {len(values)})"
    return f"trial {chosen.number} chosen with {chosen.value:.1f}; judged: IQM {iqm.text(len(values))}, {mean}"


def _finished(client: Client, sweep_id: str, until: float) -> SweepState:
    reader = SweepReader(client, sweep_id)
    while reader.refresh().phase not in ENDED:
        if reader.state.phase == "paused" and not reader.summary.asked:
            client.control_sweep(sweep_id, "continue")
        if time.monotonic() > until:
            _pause(client, reader)
            raise NotYet
        time.sleep(LOOK_S)
    if reader.state.phase != "finished":
        raise SystemExit(f"sweep {sweep_id}: {reader.state.phase}: {reader.state.reason}")
    return reader.state


def _pause(client: Client, reader: SweepReader) -> None:
    """Until nothing of it runs any more."""
    client.control_sweep(reader.sweep_id, "pause")
    while reader.refresh().phase not in ("paused", *ENDED) or reader.summary.has_controller:
        time.sleep(0.2)
