"""Which daemon the command talks to."""

import os
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic.cli.terminal.printing import waiting
from mosaic.cli.terminal.verb_parser import BadArguments as BadArguments
from mosaic.cli.terminal.verb_parser import Parser as Parser
from mosaic.cli.terminal.verb_parser import parser as parser
from mosaic.spec.run_dir import Home

if TYPE_CHECKING:
    from mosaic.rpc.client import Client

TARGET_VARIABLE = "MOSAIC_TARGET"
CERTIFICATE_VARIABLE = "MOSAIC_CERTIFICATE"


@dataclass(frozen=True)
class ConnectionOptions:
    """The daemon that was asked for; without a target, that of the home."""

    target: str | None = None
    certificate: Path | None = None
    start: bool = True


_reach: ContextVar[ConnectionOptions | None] = ContextVar("reach", default=None)


def take_global_options(words: Sequence[str]) -> list[str]:
    """Remember --target, --certificate and --no-start, before the verb or behind it; the other words come back."""
    found = Parser(prog="mosaic", add_help=False, allow_abbrev=False)
    found.add_argument("--target", default=os.environ.get(TARGET_VARIABLE))
    found.add_argument("--certificate", type=Path, default=os.environ.get(CERTIFICATE_VARIABLE))
    found.add_argument("--no-start", action="store_true")
    # The daemon and the page have flags of their own with these names, and what follows "--" is a script's.
    at = min((words.index(word) for word in ("daemon", "--") if word in words), default=len(words))
    options, rest = found.parse_known_args(list(words[:at]))
    if rest[:1] == ["web"]:
        at = words.index("web")
        options, rest = found.parse_known_args(list(words[:at]))
    certificate = options.certificate and Path(options.certificate)
    _reach.set(ConnectionOptions(options.target or None, certificate, not options.no_start))
    return [*rest, *words[at:]]


def current() -> ConnectionOptions:
    return _reach.get() or ConnectionOptions()


def connect() -> "Client":
    """A client of the daemon that was asked for; starts that of the home if it does not run."""
    from mosaic.rpc.client import Client

    chosen = _heard()
    with waiting("starting the daemon …"):
        return Client(chosen.target, certificate=chosen.certificate, start=chosen.start)


def _heard() -> ConnectionOptions:
    """The daemon that was asked for; checks first that something listens at its address."""
    from mosaic.rpc.channel import check_address
    from mosaic.rpc.locate import refuse_silent

    chosen = current()
    if chosen.target is not None:
        check_address(chosen.target, certificate=chosen.certificate)
        refuse_silent(chosen.target)
    return chosen


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

    chosen = _heard()
    return Client(chosen.target, certificate=chosen.certificate, start=False)


def refuse_remote(verb: str) -> None:
    """For what concerns the files or processes of this machine."""
    if target := current().target:
        raise BadArguments(f"'mosaic {verb}' works on the machine of the daemon; log in to {target} and run it there")
