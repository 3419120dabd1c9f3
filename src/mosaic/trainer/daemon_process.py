"""The daemon process: one per home, found by its lock file, ended without touching its workers."""

import contextlib
import fcntl
import gc
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic import operating_system
from mosaic.errors import HomeVanished, MosaicError
from mosaic.log import get_logger
from mosaic.spec.processes import home_claim
from mosaic.spec.run_dir import Home
from mosaic.trainer.agents.agent_listener import AgentListener
from mosaic.trainer.agents.agent_listener import socket_of as agent_socket
from mosaic.trainer.agents.agents import Agents
from mosaic.trainer.agents.leases import Terms
from mosaic.trainer.agents.watched_frames import WatchedFrames
from mosaic.trainer.catalogue.daemon_catalogue import Catalogue
from mosaic.trainer.engines import DEFAULT, ENGINES, engine_named
from mosaic.trainer.engines.all_engines import AllEngines
from mosaic.trainer.engines.engine import Surroundings
from mosaic.trainer.engines.local_engine import LocalEngine
from mosaic.trainer.index import directory_reader
from mosaic.trainer.index.index_store import open_store
from mosaic.trainer.machine import gpus
from mosaic.trainer.machine.health import Health
from mosaic.trainer.runs.run_lifecycle import Patience
from mosaic.trainer.runs.schedule import Slots
from mosaic.trainer.runs.supervisor import Supervisor
from mosaic.trainer.serving import live_frames
from mosaic.trainer.serving.change_signal import ChangeSignal
from mosaic.trainer.serving.listeners import Tcp, listen, socket_path
from mosaic.trainer.serving.service import TrainerService
from mosaic.trainer.sweeps.sweep_requests import Sweeps

LOCK_WAIT_S = 0.5
INDEX_WAIT_S = 0.1
RESERVE_FILES = 8
RESERVE_FILE_BYTES = 64 * 2**10

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
    lease_s: float = Terms.lease_s
    """How long a worker on another machine goes on without this daemon."""
    engine: str = DEFAULT
    """What starts the workers of runs that name no engine."""
    warm: bool = True
    """Keep a pre-imported worker ready."""
    output: Path | None = None
    """Where stdout and stderr go once it is ready, so that no pipe of its starter can fill up or break."""


def serve(settings: Settings) -> None:
    """Run until SIGTERM or Shutdown; workers go on."""
    home = settings.home
    engine_named(settings.engine)
    home.create()
    with _only_one(home) as lock, _claimed(home) as claimed:
        give_up_reserve(home)
        log.info("daemon.starting", home=str(home.root), pid=os.getpid())
        change_signal, workshop = ChangeSignal(), LocalEngine()
        terms = Terms(lease_s=settings.lease_s, grace_s=settings.patience.stop_s)
        agents, frames = Agents(home, terms), WatchedFrames()
        engines = AllEngines(workshop, ENGINES, Surroundings(home, agents), default=settings.engine)
        found = gpus.names()
        slots = Slots(settings.cpus or operating_system.available_cores(), len(found))
        store, fresh = open_store(home.index)
        directory_reader.clear(home, store)
        supervisor = Supervisor(home, store, engines.of, slots, change_signal, settings.patience)
        agents.may_go_on, agents.wake = supervisor.counts_on, supervisor.wake
        agents.is_ready = lambda: supervisor.indexing.is_listed
        # A small home is known before the first answer; a large one is read beside the answers.
        supervisor.indexing.start(wait_s=INDEX_WAIT_S)
        unlisted, unread = supervisor.indexing.missing
        log.info("daemon.index", fresh=fresh, unlisted=unlisted, unread=unread)
        health = Health(supervisor, found, lambda: engines.of("").is_warm)
        if _is_network_disk(home.trainer):
            health.warnings.append("the home lies on a network file system; locks and durability may not hold there")
        catalogue = Catalogue(home, warm_output_of=workshop.warm_output_of)
        # Before a client can find it: one that ends it at once must not cut off what it is writing.
        _listen_to_signals(health)
        sweeps = Sweeps(home)
        agent_listener = AgentListener(agents, frames, agent_socket(home, socket_path(home)))
        agent_listener.start()
        service = TrainerService(supervisor, engines, catalogue, health, sweeps, agents, frames)
        listening = listen(home, settings.tcp, service)
        addresses = listening.addresses
        supervisor.target = addresses[0]
        health.address = " ".join(addresses)
        _announce(lock, addresses)
        # What is there now stays; it need not be looked through again and again.
        gc.freeze()
        gc.enable()
        if settings.output is not None:
            _send_output_to(settings.output)
        if settings.warm:
            engines.of("").warm_up()
        supervisor.warm = settings.warm
        supervisor.start()
        sweeps.controllers.start()
        live_frames.start_sweeping(health.ending)
        threading.Thread(target=_prepare, args=(catalogue,), name="catalog", daemon=True).start()
        keep_reserve(home)
        log.info("daemon.ready", addresses=addresses, pid=os.getpid())
        is_home_there = True
        while is_home_there and not health.ending.wait(1.0):
            claimed.take_askers()
            is_home_there = _holds(lock, home)
        if is_home_there:
            log.info("daemon.ending")
        else:
            # Nothing is written any more: it would begin a second home in the place of the one that is gone.
            log.error("daemon.home_gone", home=str(home.root), error="it was removed or moved away; the daemon ends")
        change_signal.close()
        listening.close(is_home_there=is_home_there)
        agent_listener.close()
        sweeps.controllers.close()
        supervisor.close(save=is_home_there)
        engines.close()
        store.close()
        if not is_home_there:
            raise HomeVanished(home.root)


def _prepare(catalogue: Catalogue) -> None:
    """Before the first submit has to wait for it."""
    try:
        catalogue.content()
    except Exception as error:  # A border: a client that asks for the catalogue is told the reason.
        log.warning("catalog.failed", error=str(error))


def _listen_to_signals(health: Health) -> None:
    def end(_number: int, _frame: object) -> None:
        health.ask_to_end()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    # A terminal that closes is not a reason to end.
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
        # Told to end, not killed: a client that was connected does not start another one (mosaic.rpc.locate).
        with contextlib.suppress(OSError):  # A full disk must not keep it from ending.
            _write_over(descriptor, {"stopped": time.time()})
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _claimed(home: Home) -> Generator[home_claim.Claim]:
    """The claim on the path of this home, which a daemon may still have whose folder was removed or moved away."""
    deadline = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            claimed = home_claim.claim(home.root)
            break
        except home_claim.Claimed as error:
            # A child that a killed daemon was just making has its sockets until it becomes another program.
            if time.monotonic() > deadline:
                place = f"pid {error.pid}, whose folder was removed or moved away; it ends by itself in a moment"
                raise AlreadyRunning(f"a daemon still runs for {home.root} ({place}): try again then") from None
            time.sleep(0.01)
    try:
        yield claimed
    finally:
        claimed.close()


def _holds(lock: int, home: Home) -> bool:
    """Whether the lock that this process holds is the one that lies in the home."""
    try:
        return os.path.samestat(os.fstat(lock), home.lock.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # A disk that does not answer now says nothing about the home.
        return True


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
    _write_over(lock, {"pid": os.getpid(), "addresses": addresses})


def _write_over(lock: int, content: dict[str, Any]) -> None:
    os.ftruncate(lock, 0)
    os.pwrite(lock, json.dumps(content).encode(), 0)


def _send_output_to(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)


def _is_network_disk(path: Path) -> bool:
    """Whether the deepest mount that holds a path is one that other machines share."""
    mounts = [line.split() for line in operating_system.proc_lines("mounts") or []]
    holding = [(len(mount[1]), mount[2]) for mount in mounts if path.is_relative_to(mount[1])]
    return bool(holding) and max(holding)[1].startswith(("nfs", "cifs", "smb", "lustre", "beegfs", "fuse.sshfs"))


def give_up_reserve(home: Home) -> None:
    """A little room kept back on the disk of the home: with it a daemon starts, and deletes runs, on a full disk.

        <home>/trainer/reserve/0 … 7   files of 64 KiB, made of zeros, given up while a daemon starts

    What a start needs of it: the index's two side files, the lock's text, the socket, and an inode for each.
    """
    shutil.rmtree(home.reserve, ignore_errors=True)


def keep_reserve(home: Home) -> None:
    """For the next start; without it where there is no room."""
    try:
        home.reserve.mkdir(mode=0o700, exist_ok=True)
        for number in range(RESERVE_FILES):
            # Written rather than made longer: a hole takes no room.
            (home.reserve / str(number)).write_bytes(bytes(RESERVE_FILE_BYTES))
    except OSError as error:
        log.warning("daemon.no_reserve", error=str(error))
        give_up_reserve(home)
