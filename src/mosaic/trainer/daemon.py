"""The daemon process: one per home, found by its lock file, ended without touching its workers."""

import contextlib
import fcntl
import json
import os
import signal
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic.errors import MosaicError
from mosaic.log import get_logger
from mosaic.spec.run_dir import Home
from mosaic.trainer import frames, gpus, reindex
from mosaic.trainer.bell import Bell
from mosaic.trainer.catalog import Catalog
from mosaic.trainer.engines.local import LocalEngine
from mosaic.trainer.health import Health
from mosaic.trainer.listen import Tcp, listen
from mosaic.trainer.schedule import Slots
from mosaic.trainer.service import TrainerService
from mosaic.trainer.store import open_store
from mosaic.trainer.supervisor import Supervisor
from mosaic.trainer.tending import Patience

LOCK_WAIT_S = 0.5

log = get_logger()


class AlreadyRunning(MosaicError):
    """Another daemon has this home."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How this daemon runs."""

    home: Home
    tcp: Tcp | None = None
    """An address beside the unix socket."""
    cpus: int | None = None
    """CPU slots; None is the machine's cores."""
    patience: Patience = field(default_factory=Patience)
    warm: bool = True
    """Keep a pre-imported worker ready."""
    output: Path | None = None
    """Where stdout and stderr go once it is ready, so that no pipe of whoever started it can fill up or break."""


def serve(settings: Settings) -> None:
    """Run until SIGTERM or Shutdown; workers go on."""
    home = settings.home
    home.create()
    with _only_one(home) as lock:
        engine, bell = LocalEngine(), Bell()
        found = gpus.names()
        slots = Slots(settings.cpus or len(os.sched_getaffinity(0)), len(found))
        store, fresh = open_store(home.index)
        reindex.clear(home, store)
        imported = reindex.Orphans(home, store, engine).take_in()
        log.info("daemon.index", fresh=fresh, imported=imported)
        supervisor = Supervisor(home, store, engine, slots, bell, settings.patience)
        health = Health(supervisor, found, lambda: engine.is_warm)
        if _is_network_disk(home.trainer):
            health.warnings.append("the home lies on a network file system; locks and durability may not hold there")
        catalog = Catalog(home, warm_output_of=engine.warm_output_of)
        # Before anybody can find it: whoever ends it at once must not cut off what it is writing.
        _listen_to_signals(health)
        listening = listen(home, settings.tcp, TrainerService(supervisor, catalog, health))
        addresses = listening.addresses
        supervisor.target = addresses[0]
        health.address = " ".join(addresses)
        _announce(lock, addresses)
        if settings.output is not None:
            _send_output_to(settings.output)
        if settings.warm:
            engine.warm_up()
        supervisor.warm = settings.warm
        supervisor.start()
        frames.start_sweeping(health.ending)
        threading.Thread(target=_prepare, args=(catalog,), name="catalog", daemon=True).start()
        log.info("daemon.ready", addresses=addresses, pid=os.getpid())
        while not health.ending.wait(1.0):
            pass
        log.info("daemon.ending")
        bell.close()
        listening.close()
        supervisor.close()
        engine.close()
        store.close()


def _prepare(catalog: Catalog) -> None:
    """Before the first submit has to wait for it."""
    try:
        catalog.content()
    except Exception as error:  # A border: whoever asks for the catalogue is told the reason.
        log.warning("catalog.failed", error=str(error))


def _listen_to_signals(health: Health) -> None:
    def end(_number: int, _frame: object) -> None:
        health.ask_to_end()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    # A terminal that closes is no reason to end.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


@contextlib.contextmanager
def _only_one(home: Home) -> Generator[int]:
    """The lock of this home; it is the kernel's, so one that a killed daemon left behind does not hold."""
    descriptor = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _locked(descriptor):
            where = os.pread(descriptor, 4096, 0).decode(errors="replace")
            try:
                running: dict[str, Any] = json.loads(where)
                place = f"pid {running['pid']}, listening on {' '.join(running['addresses'])}"
            except (ValueError, KeyError):
                place = "starting right now"
            raise AlreadyRunning(f"a daemon already runs for {home.root} ({place}); use that one")
        os.ftruncate(descriptor, 0)
        yield descriptor
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Not at the first try only: a client that looks for a daemon holds the lock for a moment, too."""
    deadline = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)


def _announce(lock: int, addresses: list[str]) -> None:
    os.pwrite(lock, json.dumps({"pid": os.getpid(), "addresses": addresses}).encode(), 0)


def _send_output_to(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)


def _is_network_disk(path: Path) -> bool:
    """Whether the deepest mount that holds a path is one that other machines share."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return False
    holding = [(len(mount[1]), mount[2]) for mount in mounts if path.is_relative_to(mount[1])]
    return bool(holding) and max(holding)[1].startswith(("nfs", "cifs", "smb", "lustre", "beegfs", "fuse.sshfs"))
