"""The program `python -m mosaic.web`: its flags, the link that it prints, and how it ends."""

import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Le

from mosaic import config
from mosaic.errors import MosaicError
from mosaic.plain_text import plain
from mosaic.spec.catalogue.extras import BROWSER
from mosaic.spec.run_dir import Home
from mosaic.web.web_address import DEFAULT_PORT, WebAddress, checked, listen

INTERRUPTED = 130


@dataclass(frozen=True, kw_only=True)
class WebFlags:
    """The studio in a browser."""

    host: str = "127.0.0.1"
    """Address to listen on; beyond loopback only with --certificate and --key."""
    port: Annotated[int, Ge(0), Le(65535)] = DEFAULT_PORT
    """Port to listen on; 0 takes a free one."""
    certificate: Path | None = None
    """TLS certificate (PEM), needed beyond loopback."""
    key: Path | None = None
    """Its private key (PEM)."""
    name: tuple[str, ...] = ()
    """Further names by which browsers reach this machine, beside its host name."""
    allow_control: bool = False
    """The page may start, label, pause, continue, resume and cancel runs and sweeps."""


def main() -> int:
    try:
        flags = config.from_flags(WebFlags, sys.argv[1:], prog="mosaic web")
        BROWSER.require("the studio in a browser")
        address = checked(flags.host, flags.port, flags.certificate, flags.key, flags.name)
        with listen(address) as listener:
            _serve(address, listener, allow_control=flags.allow_control)
    except MosaicError as error:
        sys.stderr.write(f"error: {plain(error.sentence)}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _serve(address: WebAddress, listener: socket.socket, *, allow_control: bool) -> None:
    # Only here: an error in a flag is told before the server is loaded.
    from mosaic.web.application import Studio
    from mosaic.web.daemon_news import DaemonNews

    target, certificate = os.environ.get("MOSAIC_TARGET"), os.environ.get("MOSAIC_CERTIFICATE")
    news = DaemonNews(Home.resolve(), target=target or None, certificate=Path(certificate) if certificate else None)
    studio = Studio(address, news, port=listener.getsockname()[1], allow_control=allow_control, tell=_tell)
    studio.serve(listener)


def _tell(line: str) -> None:
    """On stdout, at once: another program may wait for the link."""
    sys.stdout.write(f"{plain(line)}\n")
    sys.stdout.flush()
