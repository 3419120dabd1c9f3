"""What the user set of alerts: `alerts.json` in the home, edited by `mosaic alerts`. Only here can a command be named.

Run configs name receivers and causes by their words. What a run directory holds, or an imported run says, therefore
never decides which command runs or which address is called.
"""

import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from urllib.parse import SplitResult, urlsplit

from annotated_types import Ge, Gt, Le

from mosaic import config
from mosaic.alerts.alert import CAUSES, DESKTOP, Cause, causes_of, receivers_of
from mosaic.alerts.alert_rules import Thresholds
from mosaic.errors import ConfigError, MosaicError, Problem
from mosaic.near_names import near_names
from mosaic.spec.files.shared_files import one_at_a_time, read_small, write_atomically
from mosaic.spec.run_dir import Home, RunDir, is_run_folder

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
RESERVED = (DESKTOP, "none", "all")


@dataclass(frozen=True, kw_only=True)
class Receiver:
    """Who is told of alerts: a web address, or a command of the user's."""

    url: str = ""
    """A webhook: JSON is posted there. Empty for a command."""
    command: tuple[str, ...] = ()
    """The program, by its absolute path, and its words. Empty for a webhook."""

    @property
    def kind(self) -> Literal["webhook", "command"]:
        return "command" if self.command else "webhook"

    @property
    def shown(self) -> str:
        """Without what may be secret: the path and the query of an address, the words of a command."""
        if self.command:
            return self.command[0]
        place = urlsplit(self.url)
        return f"{place.scheme}://{place.hostname}{f':{place.port}' if place.port else ''}/…"


@dataclass(frozen=True, kw_only=True)
class RunWishes:
    """What a run says of its own alerts, in words and numbers; never an address or a command."""

    on: str | None = None
    to: str | None = None
    numbers: Mapping[str, float] = field(default_factory=dict[str, float])
    """Of the rules, by name."""


@dataclass(frozen=True, kw_only=True)
class AlertSettings(Thresholds):
    """The content of `alerts.json`: what holds for all runs, and the receivers."""

    on: tuple[Cause, ...] = CAUSES
    """Causes that are alerts."""
    to: tuple[str, ...] = (DESKTOP,)
    """Names of the receivers that are told."""
    time_limit_s: Annotated[float, Gt(0), Le(600)] = 10.0
    """For a web server to answer, and for a command to end."""
    tries: Annotated[int, Ge(1), Le(10)] = 3
    """Of a webhook that does not answer with success."""
    retry_s: Annotated[float, Ge(0), Le(3600)] = 5.0
    """Between the first try and the second; five times as long before each further one."""
    receivers: dict[str, Receiver] = field(default_factory=dict[str, Receiver])
    """By name."""

    def thresholds_for(self, wishes: RunWishes) -> Thresholds:
        """Those of a run: its own where it has them."""
        return Thresholds(**{name: wishes.numbers.get(name, getattr(self, name)) for name in vars(Thresholds())})

    def causes_for(self, wishes: RunWishes) -> tuple[Cause, ...]:
        return self.on if wishes.on is None else causes_of(wishes.on)

    def receivers_for(self, wishes: RunWishes) -> tuple[str, ...]:
        return self.to if wishes.to is None else receivers_of(wishes.to)


class AlertSettingsFile:
    """`alerts.json` of a home. Only on the machine of the daemon: a client elsewhere may not choose what runs there."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self.path = home.alert_settings

    def read(self) -> AlertSettings:
        """As by default where there is no file; ConfigError where it cannot be used."""
        try:
            found = self.path.lstat()
        except FileNotFoundError:
            return AlertSettings()
        if found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise self._refused("is not yours alone to write: it says which commands run; chmod 600 it")
        try:
            return config.from_json_text(AlertSettings, read_small(self.path), what=str(self.path))
        except OSError as error:
            raise self._refused(f"cannot be read: {error}; delete it and set the alerts again") from error

    def change(self, how: Callable[[AlertSettings], AlertSettings]) -> AlertSettings:
        """Read, change and write it, one process at a time."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with one_at_a_time(self._home.alerts_lock):
            changed = how(self.read())
            check_receivers(changed, changed.to, what="mosaic alerts")
            write_atomically(self.path, json.dumps(config.to_json(changed), indent=1) + "\n", mode=0o600)
        return changed

    def add(self, name: str, receiver: Receiver) -> AlertSettings:
        if not NAME.fullmatch(name) or name in RESERVED:
            raise _wrong(
                f"'{name}' cannot be the name of a receiver: letters, digits and . _ -, and not {', '.join(RESERVED)}"
            )
        return self.change(lambda now: replace(now, receivers={**now.receivers, name: receiver}))

    def remove(self, name: str) -> AlertSettings:
        """It is told no more, for all runs either."""

        def without(now: AlertSettings) -> AlertSettings:
            check_receivers(now, (name,), what="mosaic alerts remove")
            left = {key: value for key, value in now.receivers.items() if key != name}
            return replace(now, receivers=left, to=tuple(one for one in now.to if one != name))

        return self.change(without)

    def webhook(self, url: str) -> Receiver:
        check_url(url)
        return Receiver(url=url)

    def command(self, words: Sequence[str]) -> Receiver:
        """Found on the PATH now, so that it is the same program whatever PATH the daemon has."""
        program = shutil.which(words[0])
        if program is None:
            raise _wrong(f"there is no program '{words[0]}'")
        made = Receiver(command=(os.path.abspath(program), *words[1:]))  # noqa: PTH100 (a link stays as it is)
        refuse_runs(self._home, Path(made.command[0]))
        return made

    def _refused(self, why: str) -> ConfigError:
        return ConfigError([Problem("", why)], what=str(self.path))


def wishes_of(run_dir: RunDir) -> RunWishes:
    """What the config of a run says of alerts; what cannot be used counts as not said."""
    found: Any = None
    try:
        found = config.loads(read_small(run_dir.config), what="run config")
        for key in ("metadata", "worker", "config", "extras"):
            found = found[key]
        said = {name: found.get(f"alert_{name}") for name in ("on", "to", *vars(Thresholds()))}
        causes_of(said["on"] or "")
    except (OSError, MosaicError, KeyError, TypeError, AttributeError, ValueError):
        return RunWishes()
    numbers = {name: value for name, value in said.items() if type(value) in (int, float) and value > 0}
    texts = {name: value for name, value in said.items() if isinstance(value, str)}
    return RunWishes(on=texts.get("on"), to=texts.get("to"), numbers=numbers)


def check_run(home: Home, document: config.JsonObject) -> None:
    """ConfigError for what a run config says of alerts that cannot be followed here."""
    extras: Any = document
    for key in ("metadata", "worker", "config", "extras"):
        extras = _value_in(extras, key)
    on, to = (_value_in(extras, name) for name in ("alert_on", "alert_to"))
    problems: list[Problem] = []
    try:
        causes_of(on if isinstance(on, str) else "")
    except ValueError as error:
        problems.append(Problem("--alert-on", str(error)))
    if isinstance(to, str):
        problems += _unknown(AlertSettingsFile(home).read(), receivers_of(to), "--alert-to")
    if problems:
        raise ConfigError(problems, what="mosaic train")


def _value_in(document: Any, key: str) -> Any:
    """None where there is no such key, or no object: the schema of the config tells what is wrong with it."""
    return cast("dict[str, Any]", document).get(key) if isinstance(document, dict) else None


def check_receivers(settings: AlertSettings, names: Sequence[str], *, what: str) -> None:
    """ConfigError for a name that is not a receiver here."""
    if problems := _unknown(settings, names, ""):
        raise ConfigError(problems, what=what)


def _unknown(settings: AlertSettings, names: Sequence[str], path: str) -> list[Problem]:
    known = (DESKTOP, *settings.receivers)
    problems: list[Problem] = []
    for name in names:
        if name not in known:
            near = near_names(name, known, most=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            problems.append(Problem(path, f"'{name}' is not a receiver of alerts here: {', '.join(known)}{meant}"))
    return problems


def check_url(url: str) -> SplitResult:
    """An address that may be posted to: HTTPS, or HTTP on this machine."""
    try:
        place = urlsplit(url)
        host = place.hostname or ""
        _ = place.port
    except ValueError as error:
        raise _wrong(f"the address cannot be read: {error}") from error
    if not host or not url.isascii() or any(letter.isspace() or not letter.isprintable() for letter in url):
        raise _wrong("the address is not a whole one: https://HOST/…")
    if place.scheme != "https" and not (place.scheme == "http" and host in LOOPBACK):
        raise _wrong(
            f"'{place.scheme}://{host}' is neither https nor on this machine: an alert would travel unprotected"
        )
    return place


def refuse_runs(home: Home, program: Path) -> None:
    """Nothing that lies in a run directory ever runs."""
    for place in (program, program.resolve()):
        inside = place.is_relative_to(home.trainer) or place.is_relative_to(home.trainer.resolve())
        if inside or any(is_run_folder(folder) for folder in place.parents):
            raise _wrong(f"{program} lies in a run directory, and nothing there may run; copy it elsewhere")


def _wrong(message: str) -> ConfigError:
    return ConfigError([Problem("", message)], what="mosaic alerts")


def as_json(settings: AlertSettings) -> Mapping[str, Any]:
    """For a terminal: without what may be secret."""
    told = {name: {"kind": one.kind, "where": one.shown} for name, one in settings.receivers.items()}
    return {**config.to_json(settings), "receivers": told}


def changed_settings(now: AlertSettings, given: Mapping[str, Any]) -> AlertSettings:
    """With these values, within their bounds."""
    try:
        return config.from_json(AlertSettings, config.to_json(replace(now, **given)), what="mosaic alerts set")
    except ConfigError as error:
        raise config.as_flags_of(AlertSettings, error, what="mosaic alerts set") from error
