"""From a record to a worker's command line, and from a worker's end to a verdict."""

import json
import signal
from collections.abc import Mapping
from pathlib import Path

from mosaic import config
from mosaic.errors import CheckpointError
from mosaic.spec.files import write_atomically
from mosaic.spec.life_lock import INHERITED
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState
from mosaic.trainer.engines.engine import Launch
from mosaic.trainer.ingest import Ending
from mosaic.trainer.workers import WORKERS

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
TAIL_BYTES = 16 * 1024


def make_launch(home: Home, run_dir: RunDir, record: RunRecord, *, target: str, secrets: Mapping[str, str]) -> Launch:
    """The start of this run's next attempt; leaves `worker-<RUN>-<slot>.json` behind."""
    document = config.loads(home.config(record.run_id).read_bytes(), what="stored config")
    slot = next_slot(home)
    worker_config = home.worker_config(record.run_id, slot)
    write_atomically(worker_config, json.dumps(document, indent=1) + "\n")
    argv = ["--config", str(worker_config), "--run-dir", str(run_dir.root)]
    if record.resume_from:
        argv += ["--resume", str(run_dir.inside(record.resume_from))]
    if record.kind == "train":
        argv += ["--grpc", "--grpc-target", target]
    environment = {name: str(record.cpus) for name in THREAD_VARIABLES}
    environment["MOSAIC_HOME"] = str(home.root)
    environment[INHERITED] = "1"
    environment["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, record.gpu_ids))
    return Launch(
        run_dir=run_dir,
        module=WORKERS[record.kind].module,
        argv=argv,
        environment={**environment, **secrets},
        # Thread pools of a pre-imported process were sized when it started.
        warm=record.cpus == 1,
    )


def next_slot(home: Home) -> int:
    """A counter over all worker configs of this home; only grows."""
    taken = [path.stem.rsplit("-", 1)[-1] for path in home.configs.glob("worker-*.json")]
    return 1 + max((int(slot) for slot in taken if slot.isdigit()), default=0)


def verdict(record: RunRecord, ending: Ending | None, code: int | None, *, killed: bool) -> tuple[RunState, str]:
    """State and reason of a run whose worker is gone, from what it said and how it ended."""
    if record.cancel_asked:
        if ending is not None and ending.completed and record.kind == "policy_eval":
            return RunState.FINISHED, "ended by the user; what was evaluated is kept"
        how = "killed after it did not end by itself" if killed else "ended by the user after a checkpoint"
        return RunState.CANCELLED, how if ending or killed else "cancelled by the user"
    if ending is not None and ending.completed:
        return RunState.FINISHED, "stopped early by a signal; a checkpoint is kept" if ending.stopped else ""
    if ending is not None:
        return RunState.FAILED, ending.message
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        hint = "; the machine may have run out of memory" if -code == signal.SIGKILL else ""
        return RunState.FAILED, f"the worker was killed by {name}{hint}"
    if code is not None:
        return RunState.FAILED, f"the worker ended with exit code {code}; its last lines say why"
    return RunState.LOST, "the worker vanished while no daemon was looking; resume it from its last checkpoint"


def last_lines(path: Path, count: int) -> tuple[str, ...]:
    if not path.exists():
        return ()
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        return tuple(file.read().decode(errors="replace").splitlines()[-count:])


def checkpoint_steps(run_dir: RunDir) -> list[int]:
    found = [path.name.removeprefix("step-") for path in run_dir.checkpoints.glob("step-*")]
    return sorted(int(step) for step in found if step.isdigit())


def newest_checkpoint(run_dir: RunDir) -> str:
    """Relative to the run directory; empty if there is none, so that the run begins anew."""
    steps = checkpoint_steps(run_dir)
    return run_dir.relative(run_dir.checkpoint(steps[-1])) if steps else ""


def find_checkpoint(run_dir: RunDir, from_step: int) -> str:
    steps = checkpoint_steps(run_dir)
    if not steps:
        raise CheckpointError(f"run {run_dir.run_id} has no checkpoint to resume from; submit it anew")
    if from_step and from_step not in steps:
        there = ", ".join(map(str, steps))
        raise CheckpointError(f"run {run_dir.run_id} has no checkpoint of step {from_step}; there are {there}")
    return run_dir.relative(run_dir.checkpoint(from_step or steps[-1]))
