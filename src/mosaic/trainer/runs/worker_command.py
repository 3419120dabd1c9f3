"""From a record to a worker's command line."""

import itertools
import os
from collections.abc import Mapping

from mosaic import config
from mosaic.config import JsonObject
from mosaic.scripts.script import is_script
from mosaic.spec import run_config
from mosaic.spec.files import checkpoint_files
from mosaic.spec.files.shared_files import share
from mosaic.spec.processes.life_lock import INHERITED
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_record import RunRecord
from mosaic.trainer.engines.engine import Launch
from mosaic.trainer.engines.warm_worker import THREAD_VARIABLES
from mosaic.trainer.runs.run_secrets import of_worker
from mosaic.trainer.runs.worker_table import WORKERS

MAX_DIGITS = 19


class Launching:
    """Makes the starts of a home's runs; the slots of their worker configs only grow."""

    def __init__(self, home: Home, *, cpus: int) -> None:
        self._home = home
        self._cpus = cpus
        self._slots = itertools.count(_last_slot(home) + 1)

    def make(
        self, run_dir: RunDir, record: RunRecord, *, target: str, secrets: Mapping[str, str], runs_here: bool = True
    ) -> Launch:
        """The start of this run's next attempt; leaves `worker-<RUN>-<slot>.json` behind."""
        accepted = self._home.config(record.run_id)
        document = config.loads(accepted.read_bytes(), what="stored config")
        worker_config = self._home.worker_config(record.run_id, next(self._slots))
        share(accepted, worker_config)
        cpus = min(record.cpus, self._cpus) if runs_here else record.cpus
        trains = record.kind == "train"
        environment = {name: str(cpus) for name in THREAD_VARIABLES}
        environment["MOSAIC_HOME"] = str(self._home.root)
        environment[INHERITED] = "1"
        # The order in which NVML counts them.
        environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, record.gpu_ids))
        return Launch(
            run_dir=run_dir,
            module=WORKERS[record.kind].module,
            engine=record.engine,
            epoch=record.epoch,
            config=worker_config,
            options=["--cpus", str(cpus)] if trains else [],
            target=target if trains else "",
            resume=_resuming(run_dir, record) if trains else None,
            environment={**environment, **_keys(record, document, secrets)},
            # Thread pools of a pre-imported process were sized when it started.
            warm=cpus == 1,
        )


def _keys(record: RunRecord, document: JsonObject, secrets: Mapping[str, str]) -> dict[str, str]:
    if record.kind != "play" and not is_script(record.algo):
        return {}
    return of_worker(run_config.parse(document).metadata.worker.config, {**os.environ, **secrets})


def _resuming(run_dir: RunDir, record: RunRecord) -> str | None:
    if record.resume_from:
        return record.resume_from
    # An attempt that ended before its first checkpoint left a spool behind: the next one goes on with that.
    begun = run_dir.events.exists() or bool(checkpoint_files.steps(run_dir))
    return "" if begun else None


def _last_slot(home: Home) -> int:
    taken = [path.stem.rsplit("-", 1)[-1] for path in home.configs.glob("worker-*.json")]
    return max((int(slot) for slot in taken if slot.isascii() and slot.isdigit() and len(slot) < MAX_DIGITS), default=0)
