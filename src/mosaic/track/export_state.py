"""How far the export of a run to a tracker is: `<tracker>/export.json`, rewritten atomically by its exporter."""

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
from mosaic.spec.files.shared_files import is_locked, write_atomically
from mosaic.spec.run_dir import RunDir

WANDB = "wandb"
State: TypeAlias = Literal["exporting", "offline", "syncing", "synced", "failed"]
UNDER_WAY: frozenset[State] = frozenset({"exporting", "syncing"})
"""States that a living process brings to an end; without one the export was cut off."""
LOCK_WAIT_S = 0.5


class AlreadyExporting(MosaicError):
    """Another process exports this run."""


@dataclass(frozen=True, kw_only=True)
class Export:
    """The content of `export.json`."""

    v: Literal[1] = 1
    """Version of this format."""
    state: State
    """exporting: being written; offline: whole, in a local folder; syncing: being uploaded; synced: whole; failed."""
    why: str = ""
    """Why it is offline or failed, and what to do."""
    online: bool = False
    """It goes to the server directly, not into an offline folder."""
    url: str = ""
    """Page of the run, once the server has told it."""
    project: str = ""
    """Project, or experiment."""
    entity: str = ""
    """W&B team or user; empty is the key's own."""
    name: str = ""
    """Name of the run there."""
    wandb_id: str = ""
    """Id of the run there."""
    folder: str = ""
    """W&B's own folder of the run, relative to the run directory."""
    server: str = ""
    """W&B server; for other trackers, where they keep their numbers."""
    proxy: str = ""
    """Proxy on the way to it, without its password."""
    events: int = 0
    """Seq of the newest event that was exported."""
    rows: int = 0
    """Rows of history written."""
    waits_for_cpu: bool = False
    """It is under way and does not get the processor: other work has all cores."""
    updated_at: float = 0.0
    """Unix seconds."""


def read(run_dir: RunDir, tracker: str = WANDB) -> Export | None:
    """None if nothing was ever exported."""
    try:
        with run_dir.open(run_dir.export_state(tracker)) as file:
            return parse(file.read())
    except FileNotFoundError:
        return None


def parse(text: bytes) -> Export:
    return config.from_json_text(Export, text, what="export.json")


def write(run_dir: RunDir, export: Export, tracker: str = WANDB) -> Export:
    """Durable when this returns, with the time of it."""
    stamped = replace(export, updated_at=time.time())
    write_atomically(run_dir.export_state(tracker), json.dumps(config.to_json(stamped), indent=1) + "\n")
    return stamped


def spoken(export: Export) -> str:
    """Its state in words."""
    return f"{export.state}, waiting for CPU" if export.waits_for_cpu else export.state


@contextmanager
def exporting_alone(run_dir: RunDir, tracker: str = WANDB) -> Generator[None]:
    """One process at a time exports or uploads a run; the kernel lets go of the lock however that one ends."""
    lock = run_dir.export_lock(tracker)
    lock.parent.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        _lock(descriptor, run_dir)
        yield
    finally:
        os.close(descriptor)


def is_busy(run_dir: RunDir, tracker: str = WANDB) -> bool:
    """Whether a process exports or uploads this run now."""
    try:
        return is_locked(run_dir.export_lock(tracker))
    except FileNotFoundError:
        return False


def _lock(descriptor: int, run_dir: RunDir) -> None:
    """Not at the first try only: a process that asks `is_busy` holds the lock for a moment, too."""
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
