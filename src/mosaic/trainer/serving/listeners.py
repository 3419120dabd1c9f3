"""Where the daemon listens: a unix socket of its own folder, always; TCP where it was asked for, with the token."""

import hashlib
import os
import secrets
import socket
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import grpc

from mosaic.errors import ConfigError, MosaicError, Problem
from mosaic.rpc.channel import MAX_MESSAGE_BYTES, is_loopback, split_address
from mosaic.rpc.trainer_methods import answer_with
from mosaic.spec.files.shared_files import write_atomically
from mosaic.spec.run_dir import Home
from mosaic.trainer.serving.interceptor import Interceptor
from mosaic.trainer.serving.local_socket import LocalSocket
from mosaic.trainer.serving.service import TrainerService

SERVER_THREADS = 256
"""Each open stream occupies one, mostly asleep."""
MAX_SOCKET_PATH = 100
END_S = 1.0


class AddressInUse(MosaicError):
    """Another process listens there."""


@dataclass(frozen=True, kw_only=True)
class Tcp:
    """A TCP address to listen on."""

    address: str
    """HOST:PORT; port 0 takes a free one."""
    certificate: Path | None = None
    """TLS certificate chain, PEM; needed for an address beyond loopback."""
    key: Path | None = None
    """Its private key."""


@dataclass(frozen=True)
class Listening:
    """What answers, and where."""

    local: LocalSocket
    servers: list[grpc.Server]
    addresses: list[str]

    def close(self, *, is_home_there: bool) -> None:
        """Take nothing further, and give what is under way a moment."""
        self.local.close(unlink=is_home_there)
        for stopping in [server.stop(grace=END_S) for server in self.servers]:
            stopping.wait()


def listen(home: Home, tcp: Tcp | None, service: TrainerService) -> Listening:
    # What may be refused comes first, before a client is answered.
    remote = None if tcp is None else _remote(home, tcp, service)
    path = socket_path(home)
    server = _server(service, token=None)
    local = LocalSocket(path, server)
    server.start()
    local.start()
    if remote is None:
        return Listening(local, [server], [f"unix:{path}"])
    remote[0].start()
    return Listening(local, [server, remote[0]], [f"unix:{path}", remote[1]])


def _server(service: TrainerService, *, token: str | None) -> grpc.Server:
    options = [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.so_reuseport", 0),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ]
    server = grpc.server(
        ThreadPoolExecutor(SERVER_THREADS, "rpc"),
        interceptors=[Interceptor(token)],
        options=options,
        # Beyond it a call is refused at once, instead of waiting for a thread that may never come.
        maximum_concurrent_rpcs=SERVER_THREADS,
    )
    answer_with(service, server)
    return server


def _remote(home: Home, tcp: Tcp, service: TrainerService) -> tuple[grpc.Server, str]:
    host, port = split_address(tcp.address)
    if (tcp.certificate is None) != (tcp.key is None):
        raise ConfigError([Problem("--certificate", "and --key go together")], what="mosaic daemon")
    if tcp.certificate is None and not is_loopback(host):
        problem = "is not loopback: give --certificate and --key, or listen on 127.0.0.1 and tunnel with ssh -L"
        raise ConfigError([Problem("--listen", f"{tcp.address} {problem}")], what="mosaic daemon")
    _refuse_taken(host, port)
    server = _server(service, token=_token(home))
    if tcp.certificate is not None and tcp.key is not None:
        pair = (_pem(tcp.key, "--key"), _pem(tcp.certificate, "--certificate"))
        bound = server.add_secure_port(f"{host}:{port}", grpc.ssl_server_credentials([pair]))
    else:
        bound = server.add_insecure_port(f"{host}:{port}")
    return server, f"{host}:{bound}"


def _pem(path: Path, flag: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError([Problem(flag, f"{path} cannot be read: {error.strerror}")], what="mosaic daemon") from error


def _refuse_taken(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError as error:
            raise AddressInUse(f"{host}:{port} cannot be listened on: {error.strerror}; choose another port") from error


def socket_path(home: Home) -> Path:
    """In the home's own folder (0700), or, where that path is too long for a socket, in a private one of /tmp."""
    if len(str(home.socket).encode()) <= MAX_SOCKET_PATH:
        return home.socket
    folder = Path(tempfile.gettempdir()) / f"mosaic-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    stat = folder.lstat()
    if stat.st_uid != os.getuid() or stat.st_mode & 0o077:
        raise ConfigError([Problem("home", f"{folder} is not ours alone; use a MOSAIC_HOME with a shorter path")])
    return folder / f"{hashlib.sha256(str(home.root).encode()).hexdigest()[:16]}.sock"


def _token(home: Home) -> str:
    if not home.token.exists():
        old_mask = os.umask(0o177)
        try:
            write_atomically(home.token, secrets.token_urlsafe(32) + "\n")
        finally:
            os.umask(old_mask)
    return home.token.read_text().strip()
