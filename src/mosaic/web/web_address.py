"""Where the page is served: loopback, or another address with TLS; and the names that a browser may call it by."""

import ipaddress
import socket
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mosaic.errors import ConfigError, MosaicError, Problem
from mosaic.rpc.channel import is_loopback

DEFAULT_PORT = 8777
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
QUEUE = 128
WHAT = "mosaic web"


class PortTaken(MosaicError):
    """Another process listens there."""


@dataclass(frozen=True)
class WebAddress:
    """Checked: what is not loopback has a certificate."""

    host: str
    port: int
    names: frozenset[str]
    """Host names of requests that are answered; all others may be of a page that rebinds its name to this machine."""
    certificate: Path | None = None
    key: Path | None = None

    @property
    def scheme(self) -> str:
        return "http" if self.certificate is None else "https"

    def url(self, port: int) -> str:
        """As a browser on this machine, or on another one, would call it."""
        host = self.host
        if _is_every_address(host):
            host = socket.gethostname()
        return f"{self.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def checked(host: str, port: int, certificate: Path | None, key: Path | None, names: Iterable[str]) -> WebAddress:
    """ConfigError for an address that would be open to others without TLS."""
    host = host.strip("[]")
    if (certificate is None) != (key is None):
        raise ConfigError([Problem("--certificate", "and --key go together")], what=WHAT)
    if certificate is None and not is_loopback(host):
        problem = f"{host} is not loopback: give --certificate and --key, or listen on 127.0.0.1 and tunnel with ssh -L"
        raise ConfigError([Problem("--host", problem)], what=WHAT)
    if certificate is not None and key is not None:
        _refuse_bad_pair(certificate, key)
    known = {host, *LOOPBACK, *names}
    if not is_loopback(host):
        known |= {socket.gethostname(), socket.getfqdn()}
    return WebAddress(host, port, frozenset(name.lower() for name in known), certificate, key)


def listen(address: WebAddress) -> socket.socket:
    """A bound socket; PortTaken if another process has it."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
        listener.listen(QUEUE)
    except OSError as error:
        listener.close()
        raise PortTaken(
            f"{address.host}:{address.port} cannot be listened on: {error.strerror or error}; choose another --port"
        ) from error
    return listener


def _refuse_bad_pair(certificate: Path, key: Path) -> None:
    for flag, path in (("--certificate", certificate), ("--key", key)):
        try:
            path.read_bytes()
        except OSError as error:
            raise ConfigError([Problem(flag, f"{path} cannot be read: {error.strerror}")], what=WHAT) from error
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (ssl.SSLError, ValueError) as error:
        problem = f"{certificate} and {key} are not a certificate and its key (PEM): {error}"
        raise ConfigError([Problem("--certificate", problem)], what=WHAT) from error


def _is_every_address(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
