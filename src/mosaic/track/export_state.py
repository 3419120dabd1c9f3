"""How far the export of a run to a tracker is: `<tracker>/export.json`, rewritten atomically by its exporter."""

import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias

from mosaic import config
from mosaic.errors import MosaicError
from mosaic.log import get_logger
from mosaic.spec.events import Event
from mosaic.spec.files.shared_files import is_locked, one_at_a_time, write_atomically
from mosaic.spec.run_dir import RunDir
from mosaic.track import follow_events
from mosaic.track.processor_share import ProcessorShare

WANDB = "wandb"
State: TypeAlias = Literal["exporting", "offline", "syncing", "synced", "failed"]
UNDER_WAY: frozenset[State] = frozenset({"exporting", "syncing"})
"""States that a living process brings to an end; without one the export was cut off."""
LOCK_WAIT_S = 0.5
STATE_INTERVAL_S = 2.0

log = get_logger()


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


class ExportUnderWay:
    """The state of an export that this process makes, kept up to date in its file.

    Told by the thread that exports, and while it is entered by the one that looks whether that gets the processor.
    """

    def __init__(self, run_dir: RunDir, tracker: str) -> None:
        self.run_dir, self.tracker = run_dir, tracker
        self._state = Export(state="exporting")
        self._written_at = 0.0
        self._lock = threading.Lock()
        self._share: ProcessorShare | None = None

    def __enter__(self) -> Self:
        self._share = ProcessorShare(self.wait_for_cpu, lambda: not follow_events.is_alive(self.run_dir))
        return self

    def __exit__(self, *_: object) -> None:
        if self._share is not None:
            self._share.close()

    def tell(self, **changes: object) -> None:
        with self._lock:
            self._state = replace(self._state, **changes)  # type: ignore[arg-type]
            if self._state.state not in UNDER_WAY:
                self._state = replace(self._state, waits_for_cpu=False)
            self._written_at = time.monotonic()
            # A full disk or a deleted run: the next one may work, and the export itself says why it cannot go on.
            with suppress(OSError):
                write(self.run_dir, self._state, self.tracker)

    def wait_for_cpu(self, waits: bool) -> None:
        """The exporting thread begins or ends to wait for the processor."""
        if self._state.state in UNDER_WAY:
            self.tell(waits_for_cpu=waits)

    def progress(self, event: Event | None, rows: int) -> None:
        """Also the newest event, if one was taken."""
        events = self._state.events if event is None else event.seq
        with self._lock:
            self._state = replace(self._state, events=events, rows=rows)
        if time.monotonic() - self._written_at >= STATE_INTERVAL_S:
            self.tell()

    def fail(self, error: Exception) -> int:
        """The exit code."""
        self.tell(state="failed", why=f"{type(error).__name__}: {error}" if str(error) else repr(error))
        log.exception("export.failed")
        return 1


@contextmanager
def exporting_alone(run_dir: RunDir, tracker: str = WANDB) -> Generator[None]:
    """One process at a time exports or uploads a run; the kernel lets go of the lock however that one ends."""
    lock = run_dir.export_lock(tracker)
    lock.parent.mkdir(mode=0o700, exist_ok=True)
    busy = AlreadyExporting(f"another process exports run {run_dir.run_id} right now; wait for it")
    with one_at_a_time(lock, busy=busy, wait_s=LOCK_WAIT_S):
        yield


def is_busy(run_dir: RunDir, tracker: str = WANDB) -> bool:
    """Whether a process exports or uploads this run now."""
    return is_locked(run_dir.export_lock(tracker))
