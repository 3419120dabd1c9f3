"""Ways to find settings with equal environment steps, judged by ten seeds that none of them has used.

`python -m bench.sweeps find --folder var/bench/sweeps` searches each algorithm's own space by a sweep as `mosaic sweep`
does it, by random search, and by Optuna as rl-zoo3 uses it: TPE, one new seed a trial, median pruning, the best trial
taken. All of them try the default settings first, which rl-zoo3 does not. One comparison is noise, so that they are
repeated with other proposals and other seeds. A search is the sweep's own controller, with trainings in place of a
daemon (`bench/trained_in_place.py`), in a process of its own. What has ended is a file in the folder and is not
repeated; a search that was cut off goes on.
"""

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from mosaic import config
from mosaic.rpc.client import Client
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.statistics import aggregates, improvement, intervals
from mosaic.sweep import confirmation, pruning, space, sweep_dir, sweep_plan
from mosaic.sweep.controller import Controller
from mosaic.sweep.sweep_dir import SweepDir
from mosaic.sweep.sweep_plan import RETURN, SweepPlan
from mosaic.sweep.sweep_state import SweepState
from mosaic.sweep.trial_log import TrialLog, only_controller
from mosaic.sweep.trial_score import score

TASKS = ("pqn:CartPole-v1", "ppo:Acrobot-v1", "ppo:CartPole-v1")
"""The longest searches first, so that they do not end last."""
ALONE: dict[str, Any] = {"confirm_best": 0, "confirm_seeds": []}
WAYS: dict[str, dict[str, Any]] = {
    "sweep": {},
    "sweep-all": {"race": False},
    "sweep-median": {"prune": "median"},
    "random": {"method": "random", "prune": "none", **ALONE},
    "zoo": {"method": "tpe", "prune": "median", **ALONE},
}
SEEDS = 10
"""Of a confirmation, and of a verdict."""
FIRST_CONFIRMED = 101
FIRST_JUDGE = 9001


class SearchFailed(Exception):
    """It came to nothing that could be judged."""


@dataclass(frozen=True)
class Cell:
    """One search."""

    task: str
    way: str
    repeat: int
    steps: int
    """Of a run."""
    runs: int
    """So many times the steps of a run are spent."""

    @property
    def algo(self) -> str:
        return self.task.partition(":")[0]

    @property
    def env_id(self) -> str:
        return self.task.partition(":")[2]

    @property
    def name(self) -> str:
        return f"{self.algo}-{self.env_id}-{self.steps}-{self.runs}/{self.way}-{self.repeat}"

    def verdict(self, folder: Path) -> Path:
        """There once its seeds have judged it."""
        return folder.absolute() / self.name / "verdict.json"


def add_flags(words: argparse.ArgumentParser) -> None:
    words.add_argument("--folder", type=Path, required=True, help="what was found is kept there")
    words.add_argument("--tasks", nargs="+", default=TASKS, metavar="ALGO:ENV_ID")
    words.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    words.add_argument("--steps", type=int, default=20_000, help="of a run")
    words.add_argument(
        "--runs", type=int, default=100, help="so many times the steps of a run are spent by each search"
    )
    words.add_argument("--first", type=int, default=0, help="number of the first repetition, the seed of its proposals")
    words.add_argument("--repeats", type=int, default=1)
    words.add_argument("--processes", type=int, default=1, help="searches at a time")
    words.add_argument("--show", action="store_true", help="print the table of what is there, and search nothing")


def find(flags: argparse.Namespace) -> int:
    """0 if all of them are judged."""
    # Before torch is imported, in the processes that come from here.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    repeats = range(flags.first, flags.first + flags.repeats)
    cells = [
        Cell(task, way, repeat, flags.steps, flags.runs)
        for task in flags.tasks
        for repeat in repeats
        for way in flags.ways
    ]
    if not flags.show:
        _find(cells, flags.folder, flags.processes)
    print("\n".join(table(flags.folder, cells)), flush=True)
    return 0 if all(cell.verdict(flags.folder).exists() for cell in cells) else 1


def _find(cells: Sequence[Cell], folder: Path, processes: int) -> None:
    began = time.monotonic()
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        for ended in as_completed([pool.submit(found, cell, folder) for cell in cells]):
            try:
                said = line(ended.result())
            except SearchFailed as error:
                said = str(error)
            print(f"{time.monotonic() - began:6.0f} s  {said}", flush=True)


def found(cell: Cell, folder: Path) -> dict[str, Any]:
    """What the search came to and what its seeds say of it; of a file if it was judged before."""
    verdict = cell.verdict(folder)
    if verdict.exists():
        return json.loads(verdict.read_text())
    home = Home(verdict.parent)
    home.create()
    # Here and below, because it loads torch: `parts` measures the memory of a process without.
    from bench.trained_in_place import cpu_s, warm_up

    sweeps = sweep_dir.all_sweeps(home)
    sweep = sweeps[0] if sweeps else sweep_dir.create(home, new_run_id(), plan_of_cell(cell))
    warm_up(sweep.read_plan().document)
    state = _searched(sweep)
    results = confirmation.results(state)
    chosen = results[0].trial if results else state.best
    if state.phase != "finished" or chosen is None:
        raise SearchFailed(f"{cell.name}: {state.phase}: {state.reason}")
    told = {
        **vars(cell),
        "trials": len(state.trials),
        "pruned": sum(one.state == "pruned" for one in state.trials),
        "failed": sum(one.state == "failed" for one in state.trials),
        "spent": sum(run.steps for _, run in state.runs),
        "chosen": chosen.number,
        "params": chosen.params,
        "value": chosen.value,
        "judged": _judged(cell, space.applied(state.plan.document, chosen.params)),
        "cpu_s": round(cpu_s(), 1),
    }
    partial = verdict.with_suffix(".partial")
    partial.write_text(json.dumps(told, indent=1) + "\n")
    partial.replace(verdict)
    return told


def plan_of_cell(cell: Cell) -> SweepPlan:
    from cleanrl_worker.sdk.command import algorithm_catalogue

    schema: dict[str, Any] = config.json_schema(algorithm_catalogue.load(cell.algo).Args)
    searched = space.default_space(schema)
    first = FIRST_CONFIRMED + SEEDS * cell.repeat
    asked: dict[str, Any] = {
        "space": [config.to_json(one) for one in searched],
        "defaults": {one.name: schema["properties"][one.name]["default"] for one in searched},
        "steps": cell.runs * cell.steps,
        "own_seeds": 1,
        "confirm_seeds": list(range(first, first + SEEDS)),
        "proposal_seed": cell.repeat,
        "label": cell.name,
    }
    return sweep_plan.parse(plan_of(cell.algo, cell.env_id, cell.steps, **{**asked, **WAYS[cell.way]}))


def plan_of(algo: str, env_id: str, total_timesteps: int, **changes: Any) -> dict[str, Any]:
    # Neither changes the curve.
    extras = {"mode": "train", "checkpoint_interval_s": 0, "save_model": False, "algo_params": {"cuda": False}}
    worker = {"algo": algo, "env_id": env_id, "total_timesteps": total_timesteps, "extras": extras}
    document = {
        "environment": {"env_id": env_id},
        "artifacts": {"tensorboard": {"enabled": False}},
        "metadata": {"worker": {"config": worker}},
    }
    return {"document": document, **changes}


def _searched(sweep: SweepDir) -> SweepState:
    from bench.trained_in_place import TrainedInPlace

    with only_controller(sweep):
        trials = TrialLog(sweep)
        trainings = TrainedInPlace(pruning.rungs(trials.state.plan))
        controller = Controller(sweep, trials, cast("Client", trainings))
        controller.begin()
        while controller.tick() is not None:
            # A look at a training that goes on waits for it.
            pass
        trials.close()
    return trials.state


def _judged(cell: Cell, document: dict[str, Any]) -> list[float]:
    from bench.trained_in_place import TrainedInPlace

    first = FIRST_JUDGE + SEEDS * cell.repeat
    values: list[float] = []
    for seed in range(first, first + SEEDS):
        document["metadata"]["worker"]["config"]["seed"] = seed
        trainings = TrainedInPlace([])
        (run,) = trainings.submit(document)
        trainings.get(run.run_id)
        told = score(cast("Client", trainings), run.run_id, RETURN)
        if told.value is None:
            raise SearchFailed(f"{cell.name}, seed {seed}: {told.problem}")
        values.append(told.value)
    return values


def line(told: dict[str, Any]) -> str:
    judged = np.array(told["judged"])
    return (
        f"{told['task']} {told['way']} {told['repeat']}: {told['trials']} trials ({told['pruned']} pruned,"
        f" {told['failed']} failed), {told['spent']:,} steps; trial {told['chosen']} chosen with {told['value']:.1f};"
        f" judged: IQM {aggregates.iqm([judged]):.1f}, mean {judged.mean():.1f} (n = {len(judged)});"
        f" {told['cpu_s']:.0f} s of the processor"
    )


def table(folder: Path, cells: Sequence[Cell]) -> list[str]:
    """A row for each way; its scores are the IQMs of the verdicts, one a repetition."""
    rows = [
        "",
        "| task | way | trials (pruned) | repetitions | mean of the IQMs of ten fresh seeds | P(`sweep` is better) |",
        "|---|---|---|---|---|---|",
    ]
    scores: dict[tuple[str, str], list[float]] = {}
    counts: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for cell in cells:
        if not cell.verdict(folder).exists():
            continue
        told = found(cell, folder)
        key = (cell.task, cell.way)
        scores.setdefault(key, []).append(float(aggregates.iqm([np.array(told["judged"])])))
        counts.setdefault(key, []).append((told["trials"], told["pruned"]))
    for (task, way), values in scores.items():
        trials, pruned = np.mean(counts[task, way], axis=0)
        ours, beats = scores.get((task, "sweep")), "–"
        if ours and way != "sweep":
            beats = improvement.probability([np.array(ours)], [np.array(values)]).text(len(values), ".2f")
        mean = intervals.of_mean(values).text(len(values))
        rows.append(f"| {task} | {way} | {trials:.0f} ({pruned:.0f}) | {len(values)} | {mean} | {beats} |")
    return rows
