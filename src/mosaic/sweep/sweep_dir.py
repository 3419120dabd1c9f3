"""The files of a sweep, and which process writes which.

<home>/trainer/sweeps/<ULID>/sweep.json       the plan; written once, by the daemon
                            requests.jsonl    what users asked for, numbered; appended by the daemon
                            trials.jsonl      what was tried and what came of it; appended by the controller
                            controller.lock   locked (flock) by the controller as long as it lives
                            controller.log    what the controller printed
"""

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from mosaic import config
from mosaic.errors import ConfigError, MosaicError, UnknownName
from mosaic.spec.files.files_of_run import open_regular
from mosaic.spec.files.shared_files import is_locked, sync_folder, write_atomically
from mosaic.spec.run_dir import Home, is_run_id
from mosaic.sweep import sweep_plan
from mosaic.sweep.sweep_plan import SweepPlan

Verb: TypeAlias = Literal["pause", "continue", "cancel", "resume"]
VERBS: tuple[Verb, ...] = ("pause", "continue", "cancel", "resume")
Line: TypeAlias = dict[str, Any]


class SweepNotFound(UnknownName):
    kind = "sweep"
    listing = "'mosaic sweeps' lists what is in this home"


class SweepDamaged(MosaicError):
    """A line in the middle of a file of a sweep cannot be read."""


@dataclass(frozen=True)
class SweepDir:
    """Every path of one sweep."""

    root: Path

    def __post_init__(self) -> None:
        if not is_run_id(self.root.name):
            raise SweepNotFound(self.root.name)

    @property
    def sweep_id(self) -> str:
        return self.root.name

    @property
    def plan(self) -> Path:
        return self.root / "sweep.json"

    @property
    def requests(self) -> Path:
        return self.root / "requests.jsonl"

    @property
    def trials(self) -> Path:
        return self.root / "trials.jsonl"

    @property
    def lock(self) -> Path:
        return self.root / "controller.lock"

    @property
    def log(self) -> Path:
        return self.root / "controller.log"

    @property
    def has_controller(self) -> bool:
        """Whether a controller lives."""
        return is_locked(self.lock)

    def read_plan(self) -> SweepPlan:
        with open_regular(self.plan) as file:
            data = config.loads(file.read(), what=str(self.plan))
        return sweep_plan.parse(data, what=str(self.plan))


def sweeps_folder(home: Home) -> Path:
    return home.trainer / "sweeps"


def sweep_of(home: Home, sweep_id: str) -> SweepDir:
    """SweepNotFound if there is none of this id."""
    if not is_run_id(sweep_id) or not (found := SweepDir(sweeps_folder(home) / sweep_id)).plan.exists():
        raise SweepNotFound(sweep_id)
    return found


def all_sweeps(home: Home) -> list[SweepDir]:
    """Newest first."""
    try:
        found = sorted(sweeps_folder(home).iterdir(), reverse=True)
    except FileNotFoundError:
        return []
    return [one for one in (SweepDir(path) for path in found if is_run_id(path.name)) if one.plan.exists()]


def create(home: Home, sweep_id: str, plan: SweepPlan) -> SweepDir:
    """Durable when this returns; a sweep without its plan is none."""
    folder = sweeps_folder(home)
    folder.mkdir(mode=0o700, exist_ok=True)
    made = SweepDir(folder / sweep_id)
    made.root.mkdir(mode=0o700)
    write_atomically(made.plan, json.dumps(config.to_json(plan), indent=1) + "\n")
    sync_folder(folder)
    sync_folder(folder.parent)
    return made


def ask(sweep: SweepDir, verb: Verb, trials: Sequence[int] = ()) -> int:
    """Write down what a user asks for, durably; its number. Called by the daemon, one call at a time."""
    number = len(read_lines(sweep.requests)) + 1
    line: Line = {"request": number, "verb": verb, "at": time.time()}
    append(sweep.requests, line | ({"trials": list(trials)} if trials else {}))
    return number


def append(path: Path, line: Line) -> None:
    """One line, synced."""
    cut_torn_line(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, dumped(line))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def dumped(line: Line) -> bytes:
    return json.dumps(line, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def cut_torn_line(path: Path) -> None:
    """A process that was killed in the middle of a line leaves one without an end: nothing was done yet by its word."""
    try:
        with path.open("rb+") as file:
            data = file.read()
            if data and not data.endswith(b"\n"):
                file.truncate(data.rfind(b"\n") + 1)
    except FileNotFoundError:
        return


def read_lines(path: Path) -> list[Line]:
    """Every whole line; SweepDamaged names one that is none."""
    try:
        with open_regular(path) as file:
            data = file.read()
    except FileNotFoundError:
        return []
    return parse_lines(data, what=str(path))


def parse_lines(data: bytes, *, what: str) -> list[Line]:
    made: list[Line] = []
    for number, text in enumerate(data.split(b"\n")[:-1], start=1):
        try:
            made.append(config.loads(text))
        except ConfigError as error:
            why = error.problems[0].message
            raise SweepDamaged(f"{what}, line {number}: {why}; the sweep stays as it is") from None
    return made
