"""Channels to a daemon: a unix socket, or TCP with the bearer token of `daemon.token` (and TLS beyond loopback)."""

import ipaddress
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc

from mosaic.errors import ConfigError, Problem
from mosaic.spec.run_dir import Home

MAX_MESSAGE_BYTES = 32 * 2**20
TOKEN_VARIABLE = "MOSAIC_TOKEN_FILE"
"""Names the file that holds the token, where it is not the home's own."""

_OPTIONS: Sequence[tuple[str, int]] = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    # A dead peer behind a living network path is noticed in half a minute rather than never.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # A daemon that comes back is found within two seconds.
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.enable_http_proxy", 0),
)


def open_channel(target: str, *, home: Home | None = None, certificate: Path | None = None) -> grpc.Channel:
    """A channel to `unix:/path` or `host:port`; TCP carries the token, and TLS where `certificate` is given."""
    if target.startswith("unix:"):
        return grpc.insecure_channel(target, options=_OPTIONS)
    host, port = check_address(target, certificate=certificate)
    token = read_token(home)
    bearer = _Bearer(token)
    if certificate is None:
        return grpc.intercept_channel(grpc.insecure_channel(f"{host}:{port}", options=_OPTIONS), bearer)
    credentials = grpc.ssl_channel_credentials(certificate.read_bytes())
    return grpc.intercept_channel(grpc.secure_channel(f"{host}:{port}", credentials, options=_OPTIONS), bearer)


def check_address(target: str, *, certificate: Path | None) -> tuple[str, int]:
    """Host and port, or ConfigError if there is no safe way to talk to them; a unix socket has neither."""
    if target.startswith("unix:"):
        return "", 0
    host, port = split_address(target)
    if certificate is None and not is_loopback(host):
        raise ConfigError(
            [Problem("address", f"{target} is not on this machine: give its TLS certificate, or tunnel with ssh -L")],
            what="daemon address",
        )
    return host, port


def split_address(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 <= int(port) < 65536:
        raise ConfigError([Problem("address", f"'{address}' is not HOST:PORT or unix:/path")], what="daemon address")
    return host, int(port)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def read_token(home: Home | None) -> str:
    named = os.environ.get(TOKEN_VARIABLE)
    path = Path(named) if named else (home or Home.resolve()).token
    try:
        return path.read_text().strip()
    except OSError as error:
        raise ConfigError(
            [
                Problem(
                    "token",
                    f"{path} cannot be read ({error.strerror}); copy the daemon's token file, or set {TOKEN_VARIABLE}",
                )
            ],
            what="daemon address",
        ) from error


class _Details(grpc.ClientCallDetails):
    def __init__(self, details: Any, token: str) -> None:
        self.method = details.method
        self.timeout = details.timeout
        self.metadata: Any = [*(details.metadata or ()), ("authorization", f"Bearer {token}")]
        self.credentials = details.credentials
        self.wait_for_ready = details.wait_for_ready
        self.compression = details.compression


class _Bearer(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """Adds the token to each call."""

    def __init__(self, token: str) -> None:
        self._token = token

    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return continuation(_Details(client_call_details, self._token), request)

    def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return continuation(_Details(client_call_details, self._token), request)

    def intercept_stream_stream(self, continuation: Any, client_call_details: Any, request_iterator: Any) -> Any:
        return continuation(_Details(client_call_details, self._token), request_iterator)
