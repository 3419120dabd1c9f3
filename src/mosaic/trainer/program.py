"""The program `python -m mosaic.trainer`: its flags, and how it ends."""

import os
import sqlite3
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Ge

from mosaic import config, log
from mosaic.errors import HomeUnusable, MosaicError
from mosaic.plain_text import plain
from mosaic.spec.run_dir import Home
from mosaic.trainer import quick_flags
from mosaic.trainer.daemon_process import Settings, serve
from mosaic.trainer.engines import DEFAULT
from mosaic.trainer.runs.run_lifecycle import Patience
from mosaic.trainer.serving.listeners import Tcp


@dataclass(frozen=True, kw_only=True)
class DaemonFlags:
    """The trainer daemon."""

    listen: str | None = None
    """HOST:PORT beside the unix socket; always with the token of daemon.token."""
    certificate: Path | None = None
    """TLS certificate (PEM), needed beyond loopback."""
    key: Path | None = None
    """Its private key (PEM)."""
    cpus: Annotated[int, Ge(1)] | None = None
    """CPU slots; by default the cores of this machine."""
    engine: str | None = None
    """How workers are started; by default the value of MOSAIC_ENGINE, else local."""
    warm: bool = True
    """Keep a pre-imported worker ready, so that runs start at once."""
    stop_s: Annotated[float, Ge(0)] = 30.0
    """Seconds that a cancelled worker has for its last checkpoint."""
    pause_s: Annotated[float, Ge(0)] = 60.0
    """Seconds after which a paused run gives its resources back."""
    lease_s: Annotated[float, Ge(1)] = 60.0
    """Seconds after which a worker on another machine that has lost this daemon saves a checkpoint and ends."""
    log_file: Path | None = None
    """Log there as JSON lines instead of on stderr."""


def main() -> int:
    try:
        flags = flags_of(sys.argv[1:])
        log.configure(file=flags.log_file)
        serve(
            Settings(
                home=Home.resolve(),
                tcp=None if flags.listen is None else _tcp(flags.listen, flags),
                cpus=flags.cpus,
                patience=Patience(stop_s=flags.stop_s, pause_s=flags.pause_s),
                lease_s=flags.lease_s,
                engine=flags.engine or os.environ.get("MOSAIC_ENGINE") or DEFAULT,
                warm=flags.warm,
                output=flags.log_file,
            )
        )
    except MosaicError as error:
        sys.stderr.write(f"error: {plain(error.sentence)}\n")
        return error.exit_code
    except (OSError, sqlite3.Error) as error:
        sys.stderr.write(
            f"error: the daemon cannot use its home: {plain(str(error))}; check the disk and MOSAIC_HOME\n"
        )
        return HomeUnusable.exit_code
    return 0


def flags_of(words: Sequence[str]) -> DaemonFlags:
    return quick_flags.parsed(DaemonFlags, words) or config.from_flags(DaemonFlags, words, prog="mosaic daemon")


def _tcp(address: str, flags: DaemonFlags) -> Tcp:
    return Tcp(address=address, certificate=flags.certificate, key=flags.key)
