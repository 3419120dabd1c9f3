"""Sweeps: what their parts cost, and whether the settings that they find hold (`python -m bench.sweeps`).

`python -m bench.sweeps parts` measures a sweep of 1,000 trials × 3 seeds that was written by hand: reading it, the
table, the importance, a proposal; and the memory of a process that has loaded what a controller loads.
`python -m bench.sweeps find` spends equal environment steps in three ways, and judges what each has chosen
(`bench/sweep_ways.py`).
`python -m bench.sweeps race` simulates what a confirmation loses by its race (`bench/sweep_race.py`).
"""

import argparse
import json
import random
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench import sweep_race, sweep_ways
from mosaic import config
from mosaic.cli.sweeps import sweep_table
from mosaic.sweep import importance, proposals, sweep_plan, sweep_state
from mosaic.sweep.space import Params
from mosaic.sweep.sweep_dir import SweepDir, dumped

ULID = "01K9CG05J5Y0FFQMT1T920EZK2"
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
    sweep_ways.add_flags(verbs.add_parser("find"))
    verbs.add_parser("race").add_argument("--repeats", type=int, default=2000)
    flags = words.parse_args()
    if flags.verb == "race":
        return sweep_race.main(flags.repeats)
    return parts() if flags.verb == "parts" else sweep_ways.find(flags)


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
    changes = {"space": SPACE, "defaults": DEFAULTS, "seeds": list(range(1, seeds + 1)), "trials": trials}
    plan = sweep_plan.parse(sweep_ways.plan_of("ppo", "CartPole-v1", 20_000, **changes))
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


if __name__ == "__main__":
    raise SystemExit(main())
