"""The daemon process: one per home, found by its lock file, ended without touching its workers."""

import contextlib
import fcntl
import json
import os
import secrets
import signal
import socket
import tempfile
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import grpc

from mosaic.errors import ConfigError, MosaicError, Problem
from mosaic.log import get_logger
from mosaic.rpc import trainer_pb2_grpc
from mosaic.rpc.channel import MAX_MESSAGE_BYTES, is_loopback, split_address
from mosaic.spec.files import write_atomically
from mosaic.spec.run_dir import Home
from mosaic.trainer import reindex
from mosaic.trainer.bell import Bell
from mosaic.trainer.catalog import Catalog
from mosaic.trainer.engines.local import LocalEngine, detect_gpus
from mosaic.trainer.guard import Guard
from mosaic.trainer.health import Health
from mosaic.trainer.schedule import Slots
from mosaic.trainer.service import TrainerService
from mosaic.trainer.store import open_store
from mosaic.trainer.supervisor import Patience, Supervisor

SERVER_THREADS = 256
"""Each open stream occupies one, mostly asleep."""
MAX_SOCKET_PATH = 100

log = get_logger()


class AlreadyRunning(MosaicError):
    """Another daemon has this home."""


class AddressInUse(MosaicError):
    """Somebody else listens there."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How this daemon runs."""

    home: Home
    listen: str | None = None
    """HOST:PORT beside the unix socket."""
    certificate: Path | None = None
    """TLS certificate chain, PEM; needed for an address beyond loopback."""
    key: Path | None = None
    """Its private key."""
    cpus: int | None = None
    """CPU slots; None is the machine's cores."""
    patience: Patience = field(default_factory=Patience)
    warm: bool = True
    """Keep a pre-imported worker ready."""


def serve(settings: Settings) -> None:
    """Run until SIGTERM or Shutdown; workers go on afterwards."""
    home = settings.home
    home.create()
    with _only_one(home) as lock:
        engine, bell = LocalEngine(), Bell()
        gpus = detect_gpus()
        slots = Slots(settings.cpus or len(os.sched_getaffinity(0)), len(gpus))
        store, fresh = open_store(home.index)
        imported = reindex.import_missing(home, store, engine)
        log.info("daemon.index", fresh=fresh, imported=imported)
        supervisor = Supervisor(home, store, engine, slots, bell, settings.patience)
        health = Health(supervisor, gpus, lambda: engine.is_warm)
        if _is_network_disk(home.trainer):
            health.warnings.append("the home lies on a network file system; locks and durability may not hold there")
        service = TrainerService(supervisor, Catalog(home), health)
        servers, addresses = _listen(settings, service)
        supervisor.target = addresses[0]
        health.address = " ".join(addresses)
        _announce(lock, addresses)
        if settings.warm:
            engine.warm_up()
        supervisor.start()
        log.info("daemon.ready", addresses=addresses, pid=os.getpid())
        _wait_for_the_end(health)
        log.info("daemon.ending")
        bell.close()
        for stopping in [server.stop(grace=1.0) for server in servers]:
            stopping.wait()
        supervisor.close()
        engine.close()
        store.close()
        for address in addresses:
            if address.startswith("unix:"):
                Path(address.removeprefix("unix:")).unlink(missing_ok=True)


def _wait_for_the_end(health: Health) -> None:

    def end(_number: int, _frame: object) -> None:
        health.ask_to_end()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    # A terminal that closes is no reason to end.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    while not health.ending.wait(1.0):
        pass


@contextlib.contextmanager
def _only_one(home: Home) -> Generator[int]:
    """The lock of this home; it is the kernel's, so one that a killed daemon left behind does not hold."""
    descriptor = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            where = os.pread(descriptor, 4096, 0).decode(errors="replace")
            try:
                running: dict[str, Any] = json.loads(where)
                place = f"pid {running['pid']}, listening on {' '.join(running['addresses'])}"
            except (ValueError, KeyError):
                place = "starting right now"
            raise AlreadyRunning(f"a daemon already runs for {home.root} ({place}); use that one") from None
        os.ftruncate(descriptor, 0)
        yield descriptor
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _announce(lock: int, addresses: list[str]) -> None:
    os.pwrite(lock, json.dumps({"pid": os.getpid(), "addresses": addresses}).encode(), 0)


def _listen(settings: Settings, service: TrainerService) -> tuple[list[grpc.Server], list[str]]:
    """The unix socket, always; TCP where it was asked for, with token."""
    path = socket_path(settings.home)
    path.unlink(missing_ok=True)
    local = _server(service, token=None)
    old_mask = os.umask(0o177)
    try:
        local.add_insecure_port(f"unix:{path}")
        local.start()
    finally:
        os.umask(old_mask)
    servers, addresses = [local], [f"unix:{path}"]
    if settings.listen is not None:
        remote = _server(service, token=_token(settings.home))
        addresses.append(_bind(remote, settings))
        remote.start()
        servers.append(remote)
    return servers, addresses


def _server(service: TrainerService, *, token: str | None) -> grpc.Server:
    options = [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.so_reuseport", 0),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ]
    server = grpc.server(ThreadPoolExecutor(SERVER_THREADS, "rpc"), interceptors=[Guard(token)], options=options)
    cast(Any, trainer_pb2_grpc).add_TrainerServicer_to_server(service, server)
    return server


def _bind(server: grpc.Server, settings: Settings) -> str:
    assert settings.listen is not None
    host, port = split_address(settings.listen)
    _refuse_taken(host, port)
    if settings.certificate is not None and settings.key is not None:
        pair = (settings.key.read_bytes(), settings.certificate.read_bytes())
        bound = server.add_secure_port(f"{host}:{port}", grpc.ssl_server_credentials([pair]))
    elif is_loopback(host):
        bound = server.add_insecure_port(f"{host}:{port}")
    else:
        problem = "is not loopback: give --certificate and --key, or listen on 127.0.0.1 and tunnel with ssh -L"
        raise ConfigError([Problem("--listen", f"{settings.listen} {problem}")], what="mosaic daemon")
    return f"{host}:{bound}"


def _refuse_taken(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError as error:
            raise AddressInUse(f"{host}:{port} cannot be listened on: {error.strerror}; choose another port") from error


def socket_path(home: Home) -> Path:
    """In the home's own folder (0700), or, where that path is too long for a socket, in a private one of /tmp."""
    if len(str(home.socket)) <= MAX_SOCKET_PATH:
        return home.socket
    folder = Path(tempfile.gettempdir()) / f"mosaic-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    stat = folder.lstat()
    if stat.st_uid != os.getuid() or stat.st_mode & 0o077:
        raise ConfigError([Problem("home", f"{folder} is not ours alone; use a MOSAIC_HOME with a shorter path")])
    import hashlib

    return folder / f"{hashlib.sha256(str(home.root).encode()).hexdigest()[:16]}.sock"


def _token(home: Home) -> str:
    if not home.token.exists():
        old_mask = os.umask(0o177)
        try:
            write_atomically(home.token, secrets.token_urlsafe(32) + "\n")
        finally:
            os.umask(old_mask)
    return home.token.read_text().strip()


def _is_network_disk(path: Path) -> bool:
    """Whether the deepest mount that holds a path is one that other machines share."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return False
    holding = [(len(mount[1]), mount[2]) for mount in mounts if path.is_relative_to(mount[1])]
    return bool(holding) and max(holding)[1].startswith(("nfs", "cifs", "smb", "lustre", "beegfs", "fuse.sshfs"))
