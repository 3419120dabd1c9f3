"""How far the export of a run to Weights & Biases is: `wandb/export.json`, rewritten atomically by whoever exports."""

import fcntl
import json
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from mosaic import config
from mosaic.errors import MosaicError
from mosaic.spec.files import is_locked, write_atomically
from mosaic.spec.run_dir import RunDir

State: TypeAlias = Literal["exporting", "offline", "syncing", "synced", "failed"]
UNDER_WAY: frozenset[State] = frozenset({"exporting", "syncing"})
"""States that a living process brings to an end; without one the export was cut off."""
LOCK_WAIT_S = 0.5


class AlreadyExporting(MosaicError):
    """Another process exports this run."""


@dataclass(frozen=True, kw_only=True)
class Export:
    """The content of `wandb/export.json`."""

    v: Literal[1] = 1
    """Version of this format."""
    state: State
    """exporting: being written; offline: whole, in a local folder; syncing: being uploaded; synced; failed."""
    why: str = ""
    """Why it is offline or failed, and what to do."""
    online: bool = False
    """It goes to the server directly, not into an offline folder."""
    url: str = ""
    """Page of the run, once the server has told it."""
    project: str = ""
    """W&B project."""
    entity: str = ""
    """W&B team or user; empty is the key's own."""
    name: str = ""
    """W&B run name."""
    wandb_id: str = ""
    """W&B run id; the same for each export of this run."""
    folder: str = ""
    """W&B's own folder of the run, relative to the run directory."""
    server: str = ""
    """W&B server."""
    proxy: str = ""
    """Proxy on the way to it, without its password."""
    events: int = 0
    """Seq of the newest event that was exported."""
    rows: int = 0
    """Rows of history written."""
    updated_at: float = 0.0
    """Unix seconds."""


def read(run_dir: RunDir) -> Export | None:
    """None if nothing was ever exported."""
    try:
        return parse(run_dir.wandb_export.read_bytes())
    except FileNotFoundError:
        return None


def parse(text: bytes) -> Export:
    return config.from_json_text(Export, text, what="wandb/export.json")


def write(run_dir: RunDir, export: Export) -> Export:
    """Durable when this returns, with the time of it."""
    stamped = replace(export, updated_at=time.time())
    write_atomically(run_dir.wandb_export, json.dumps(config.to_json(stamped), indent=1) + "\n")
    return stamped


@contextmanager
def exporting_alone(run_dir: RunDir) -> Generator[None]:
    """One process at a time exports or uploads a run; the kernel lets go of the lock however that one ends."""
    run_dir.wandb.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(run_dir.wandb_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(descriptor, run_dir)
        yield
    finally:
        os.close(descriptor)


def is_busy(run_dir: RunDir) -> bool:
    """Whether a process exports or uploads this run now."""
    try:
        return is_locked(run_dir.wandb_lock)
    except FileNotFoundError:
        return False


def _lock(descriptor: int, run_dir: RunDir) -> None:
    """Not at the first try only: whoever asks `is_busy` holds the lock for a moment, too."""
    deadline = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                message = f"another process exports run {run_dir.run_id} right now; wait for it"
                raise AlreadyExporting(message) from None
            time.sleep(0.02)
