"""The table of workers: which program runs which kind of run. A new worker is one line."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class WorkerEntry:
    """One worker program."""

    module: str
    """Python module, run with -m."""
    accepted: tuple[str, ...]
    """Values of `metadata.worker.module` that mean it."""


WORKERS: Mapping[str, WorkerEntry] = {
    "train": WorkerEntry("cleanrl_worker.cli", ("cleanrl_worker.cli",)),
    "policy_eval": WorkerEntry("cleanrl_worker.cli", ("cleanrl_worker.cli", "cleanrl_worker.evaluate")),
    "play": WorkerEntry("mosaic.play.worker", ("mosaic.play", "mosaic.play.worker", "cleanrl_worker.cli")),
}
