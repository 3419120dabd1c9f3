"""Sweeps: what their parts cost, and whether the settings that they find hold (`python -m bench.sweeps`).

`python -m bench.sweeps parts` measures a sweep of 1,000 trials × 3 seeds that was written by hand: reading it, the
table, the importance, a proposal; and the memory of a process that has loaded what a controller loads.
`python -m bench.sweeps find --task CartPole-v1 --steps 20000 --runs 100` spends equal environment steps in three ways:
a sweep as `mosaic sweep` does it, random search, and Optuna as rl-zoo3 uses it (TPE, one seed, median pruning, the best
trial taken). Then ten further seeds, the same for all, judge the settings that each has chosen.
"""

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mosaic import config
from mosaic.cli.sweeps import sweep_table
from mosaic.rpc.client import Client
from mosaic.spec.run_dir import Home
from mosaic.statistics import aggregates, stratified_bootstrap
from mosaic.sweep import confirmation, importance, proposals, sweep_plan, sweep_state
from mosaic.sweep.space import Params, applied
from mosaic.sweep.sweep_dir import SweepDir, dumped
from mosaic.sweep.sweep_reader import SweepReader
from mosaic.sweep.sweep_state import SweepState

ULID = "01K9CG05J5Y0FFQMT1T920EZK2"
JUDGES = tuple(range(9001, 9011))
"""Seeds that no way has used."""
SPACE = [
    {"name": "learning_rate", "low": 1e-5, "high": 1e-2, "scale": "log"},
    {"name": "gamma", "low": 0.9, "high": 0.9999, "scale": "logit"},
    {"name": "num_steps", "low": 32, "high": 512, "scale": "power_of_two", "whole": True},
    {"name": "ent_coef", "low": 1e-5, "high": 0.1, "scale": "log"},
    {"name": "clip_coef", "low": 0.1, "high": 0.4},
    {"name": "update_epochs", "low": 1, "high": 10, "whole": True},
]
DEFAULTS: Params = {
    "learning_rate": 2.5e-4,
    "gamma": 0.99,
    "num_steps": 128,
    "ent_coef": 0.01,
    "clip_coef": 0.2,
    "update_epochs": 4,
}


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m bench.sweeps", description=__doc__)
    verbs = words.add_subparsers(dest="verb", required=True)
    verbs.add_parser("parts")
    find = verbs.add_parser("find")
    find.add_argument("--task", default="CartPole-v1")
    find.add_argument("--algo", default="ppo")
    find.add_argument("--steps", type=int, default=20_000, help="of a run")
    find.add_argument("--runs", type=int, default=100, help="so many times the steps of a run are spent by each way")
    flags = words.parse_args()
    return parts() if flags.verb == "parts" else find_settings(flags)


def parts(trials: int = 1000, seeds: int = 3) -> int:
    with tempfile.TemporaryDirectory() as folder:
        sweep = written(Path(folder), trials, seeds)
        print(f"{trials:,} trials × {seeds} seeds, {sweep.trials.stat().st_size:,} bytes")
        state = timed("read the files", lambda: sweep_state.read(sweep))
        timed("table of all trials", lambda: sweep_table.trial_lines(state, limit=0))
        # Loaded before: the import is not the computation.
        timed("load Optuna", lambda: __import__("optuna"))
        timed("importance", lambda: importance.importances(state))
        asking = proposals.proposals_of(state.plan)
        timed("first proposal, study built anew", lambda: asking.ask(state))
        timed("a further proposal", lambda: asking.ask(state))
        print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB at most")
    return 0


def written(folder: Path, trials: int, seeds: int) -> SweepDir:
    """A sweep as a controller would have written it."""
    sweep = SweepDir(folder / ULID)
    sweep.root.mkdir()
    plan = sweep_plan.parse(plan_of("ppo", "CartPole-v1", 20_000, seeds=list(range(1, seeds + 1)), trials=trials))
    sweep.plan.write_text(json.dumps(config.to_json(plan)))
    choice = random.Random(0)
    lines: list[bytes] = []
    for number in range(trials):
        params = dict(DEFAULTS) if number == 0 else _drawn(choice)
        lines.append(dumped({"kind": "asked", "trial": number, "params": params, "at": 0.0}))
        for seed in plan.seeds:
            run = {"trial": number, "seed": seed}
            lines.append(dumped({"kind": "submitted", **run, "run_id": ULID, "at": 0.0}))
            value = -((np.log10(float(params["learning_rate"] or 1)) + 3) ** 2) + choice.gauss(0, 0.1)
            for step in (8_000, 12_000, 16_000):
                lines.append(dumped({"kind": "reported", **run, "step": step, "value": value, "at": 0.0}))
            told = {
                "kind": "told",
                **run,
                "end": "finished",
                "value": value,
                "steps": 20_000,
                "seconds": 9.0,
                "at": 0.0,
            }
            lines.append(dumped(told))
    sweep.trials.write_bytes(b"".join(lines))
    return sweep


def _drawn(choice: random.Random) -> Params:
    return {
        "learning_rate": float(f"{10 ** choice.uniform(-5, -2):.4g}"),
        "gamma": round(1 - 10 ** choice.uniform(-4, -1), 5),
        "num_steps": 2 ** choice.randint(5, 9),
        "ent_coef": float(f"{10 ** choice.uniform(-5, -1):.4g}"),
        "clip_coef": round(choice.uniform(0.1, 0.4), 3),
        "update_epochs": choice.randint(1, 10),
    }


def timed(name: str, work: Callable[[], Any]) -> Any:
    began, cpu = time.perf_counter(), time.process_time()
    found = work()
    print(f"{name}: {time.perf_counter() - began:.3f} s ({time.process_time() - cpu:.3f} s of the processor)")
    return found


def plan_of(algo: str, env_id: str, steps: int, **changes: Any) -> dict[str, Any]:
    worker = {"algo": algo, "env_id": env_id, "total_timesteps": steps, "extras": {"mode": "train"}}
    made: dict[str, Any] = {
        "document": {
            "environment": {"env_id": env_id},
            "artifacts": {"tensorboard": {"enabled": False}},
            "metadata": {"worker": {"config": worker}},
        },
        "space": SPACE,
        "defaults": DEFAULTS,
    }
    return {**made, **changes}


def find_settings(flags: argparse.Namespace) -> int:
    """Three ways to spend the same steps, judged by the same ten seeds."""
    ways = {
        "mosaic sweep": {"method": "tpe", "prune": "median"},
        "random search": {"method": "random", "prune": "none", "confirm_best": 0, "confirm_seeds": []},
        "as rl-zoo3": {"method": "tpe", "prune": "median", "confirm_best": 0, "confirm_seeds": []},
    }
    total = flags.runs * flags.steps
    with Client(home=Home.resolve()) as client:
        for name, how in ways.items():
            plan = plan_of(flags.algo, flags.task, flags.steps, steps=total, label=f"bench {name}", **how)
            state = _finished(client, client.submit_sweep(plan).sweep_id)
            chosen = confirmation.results(state)[0].trial if confirmation.results(state) else state.best
            if chosen is None:
                print(f"{name}: no trial ended well")
                continue
            scores = _judged(client, applied(state.plan.document, chosen.params))
            spent = sum(run.steps for _, run in state.runs)
            iqm = stratified_bootstrap.interval([np.array(scores)], aggregates.iqm)
            print(
                f"{flags.task}  {name}: {len(state.trials)} trials, {spent:,} steps; chosen: trial {chosen.number};"
                f" IQM {iqm.text(len(scores))} over {len(scores)} seeds",
                flush=True,
            )
    return 0


def _finished(client: Client, sweep_id: str) -> SweepState:
    reader = SweepReader(client, sweep_id)
    while reader.refresh().phase not in ("finished", "failed", "cancelled"):
        time.sleep(2.0)
    if reader.state.phase != "finished":
        sys.exit(f"sweep {sweep_id}: {reader.state.phase}: {reader.state.reason}")
    return reader.state


def _judged(client: Client, document: dict[str, Any]) -> list[float]:
    runs = client.wait(*(run.run_id for run in client.submit(document, seeds=JUDGES)))
    return [run.last_return for run in runs if run.last_return is not None]


if __name__ == "__main__":
    raise SystemExit(main())
