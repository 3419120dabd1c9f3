"""Uploads of exports that had to stay offline: tried again now and then, one at a time, until the server answers."""

import os
import subprocess
import time
from collections.abc import Mapping

from mosaic.errors import MosaicError
from mosaic.log import get_logger
from mosaic.spec.run_dir import RunDir
from mosaic.track import export_state
from mosaic.track.export_state import Export
from mosaic.track.start_exporter import end, start

RETRY_S = 600.0
RETRY_VARIABLE = "MOSAIC_UPLOAD_RETRY_S"

log = get_logger()


def retry_s() -> float:
    """Seconds between two tries: the environment's, if that is a number above zero."""
    try:
        chosen = float(os.environ.get(RETRY_VARIABLE) or RETRY_S)
    except ValueError:
        chosen = 0.0
    if chosen > 0:
        return chosen
    log.warning("upload.retry_unusable", variable=RETRY_VARIABLE, instead_s=RETRY_S)
    return RETRY_S


def is_offline_by_choice(export: Export) -> bool:
    return export.why.startswith("WANDB_MODE")


class Uploads:
    """Called by the exporters' own tick; after a success the next one follows at once, after a failure it waits."""

    def __init__(self, retry_s: float = RETRY_S) -> None:
        self._retry_s = retry_s
        self._waiting: dict[str, tuple[RunDir, Mapping[str, str]]] = {}
        self._current: tuple[str, subprocess.Popen[bytes]] | None = None
        self._next = time.monotonic() + retry_s

    def consider(self, run_dir: RunDir, environment: Mapping[str, str]) -> None:
        """Upload this one later if it is offline against its will, and a key is known."""
        export = export_state.read(run_dir)
        if export is None or export.state != "offline" or is_offline_by_choice(export):
            return
        # Only here: it loads what speaks HTTP, and a daemon answers without.
        from mosaic.track import wandb_network

        if wandb_network.has_key(export.server, environment):
            self._waiting[run_dir.run_id] = (run_dir, environment)

    def forget(self, run_id: str) -> None:
        """It is deleted, or exported anew."""
        self._waiting.pop(run_id, None)
        if self._current is not None and self._current[0] == run_id:
            end(self._current[1])
            self._current = None

    def tick(self) -> None:
        if self._current is not None:
            run_id, process = self._current
            code = process.poll()
            if code is not None:
                self._current = None
                self._ended(run_id, code)
        elif self._waiting and time.monotonic() >= self._next:
            run_id, (run_dir, environment) = next(iter(self._waiting.items()))
            try:
                self._current = (run_id, start(run_dir, environment, sync=True))
            except (OSError, MosaicError) as error:
                log.warning("upload.not_started", run_id=run_id, error=str(error))
                self._ended(run_id, 1)

    def _ended(self, run_id: str, code: int) -> None:
        log.info("upload.ended", run_id=run_id, exit_code=code)
        waiting = self._waiting.pop(run_id, None)
        if code != 0:
            self._next = time.monotonic() + self._retry_s
            if waiting is not None and waiting[0].config.exists():
                # Behind the others: what the server refuses of one run must not hold them up.
                self._waiting[run_id] = waiting
