"""Which daemon the command talks to, and the parser that all verbs share.

Verbs parse with argparse rather than tyro: it is there at once, and `mosaic runs` should be too. The settings of an
algorithm, which are defined as a schema, go through `mosaic.config` (see train.py).
"""

import argparse
import os
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from mosaic.cli.screen import waiting
from mosaic.errors import MosaicError
from mosaic.spec.run_dir import Home

if TYPE_CHECKING:
    from mosaic.rpc.client import Client

TARGET_VARIABLE = "MOSAIC_TARGET"
CERTIFICATE_VARIABLE = "MOSAIC_CERTIFICATE"


class BadArguments(MosaicError):
    """The command line itself is wrong."""

    exit_code = 2


@dataclass(frozen=True)
class Reach:
    """The daemon that was asked for; without a target, that of the home."""

    target: str | None = None
    certificate: Path | None = None
    start: bool = True


_reach: ContextVar[Reach | None] = ContextVar("reach", default=None)


class Parser(argparse.ArgumentParser):
    """argparse with our way to complain."""

    def error(self, message: str) -> NoReturn:
        raise BadArguments(f"{self.prog}: {message}; '{self.prog} --help' shows the flags")


def parser(verb: str, description: str, *, json: bool = False, runs: str = "") -> Parser:
    """The parser of a verb; `runs` is "RUN" or "RUN…" where it takes one run or several."""
    made = Parser(prog=f"mosaic {verb}", description=description, allow_abbrev=False)
    if runs:
        made.add_argument(
            "runs" if runs.endswith("…") else "run",
            metavar="RUN",
            nargs="+" if runs.endswith("…") else None,
            help="id, its beginning or end, a label, @last or @last-1",
        )
    if json:
        made.add_argument("--json", action="store_true", help="one JSON object a line")
    return made


def take_global_options(words: Sequence[str]) -> list[str]:
    """Remember --target, --certificate and --no-start, before the verb or behind it; the other words come back."""
    found = Parser(prog="mosaic", add_help=False, allow_abbrev=False)
    found.add_argument("--target", default=os.environ.get(TARGET_VARIABLE))
    found.add_argument("--certificate", type=Path, default=os.environ.get(CERTIFICATE_VARIABLE))
    found.add_argument("--no-start", action="store_true")
    # The daemon has flags of its own with these names, and what follows "--" is a script's.
    at = min((words.index(word) for word in ("daemon", "--") if word in words), default=len(words))
    options, rest = found.parse_known_args(list(words[:at]))
    certificate = options.certificate and Path(options.certificate)
    _reach.set(Reach(options.target or None, certificate, not options.no_start))
    return [*rest, *words[at:]]


def current() -> Reach:
    return _reach.get() or Reach()


def connect() -> "Client":
    """A client of the daemon that was asked for; starts that of the home if it does not run."""
    from mosaic.rpc.client import Client

    chosen = current()
    with waiting("starting the daemon …"):
        return Client(chosen.target, certificate=chosen.certificate, start=chosen.start)


def place() -> str:
    """Whose runs these are: the home, as a user would type it, or the daemon at --target."""
    target = current().target
    if target:
        return f"daemon {target}"
    root = Home.resolve().root
    return f"home ~/{root.relative_to(Path.home())}" if root.is_relative_to(Path.home()) else f"home {root}"


def look() -> "Client":
    """The same, but looking never starts a daemon."""
    from mosaic.rpc.client import Client

    chosen = current()
    return Client(chosen.target, certificate=chosen.certificate, start=False)


def refuse_remote(verb: str) -> None:
    """For what concerns the files or processes of this machine."""
    if target := current().target:
        raise BadArguments(f"'mosaic {verb}' works on the machine of the daemon; log in to {target} and run it there")
