"""Environments and wrappers in the allowed folders: found by reading, never run here.

Each is known by its file and its name (`mosaic.spec.own_code`). Such a reference means one of them: what is there
twice is listed with that problem, and cannot be used.
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mosaic.errors import ConfigError, Problem
from mosaic.near_names import did_you_mean
from mosaic.scripts import environment_file
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.environment_file import Kind
from mosaic.spec.own_code import reference, typed

VERB = "envs"
"""The command that allows a folder for these: `mosaic envs add DIR`."""


@dataclass(frozen=True)
class OwnCode:
    """One environment or wrapper of a user's."""

    name: str
    """Its reference."""
    file: Path
    kind: Kind
    problem: str = ""
    """Why it cannot be used."""

    @property
    def place(self) -> str:
        # The name of a file may be any bytes, not only UTF-8.
        return f"{os.fsencode(self.file).decode('utf-8', 'replace')}:{self.name.rpartition(':')[2]}"

    @property
    def error(self) -> ConfigError:
        return ConfigError([Problem(self.name, self.problem)], what=self.place)


def known(allowed: Allowed, kind: Kind) -> list[OwnCode]:
    """All that look like one of a kind, by file; also those that cannot be used, with the reason."""
    found = [one for path in allowed.candidates() for one in of_file(path, kind)]
    places = defaultdict[str, list[OwnCode]](list)
    for one in found:
        places[one.name].append(one)
    return [_single(ones) for ones in places.values()]


def of_file(path: Path, kind: Kind) -> Iterator[OwnCode]:
    about = environment_file.read(path)
    if about.is_listed:
        yield from (OwnCode(reference(path.name, name), path, kind) for name in about.named(kind))


def find(word: str, allowed: Allowed, kind: Kind) -> OwnCode:
    """What a reference means; ConfigError with what to do where it means nothing that may run."""
    parts = typed(word)
    if parts is None:
        raise ConfigError(
            [Problem(word, "is not FILE.py:NAME, which names a class in a file of yours")], what=f"{kind} of a user"
        )
    files = [path for path in allowed.candidates() if path.name == parts.file]
    holding = [path for path in files if parts.name in environment_file.read(path).defined]
    if holding:
        return _single([OwnCode(word, path, kind) for path in holding])
    broken = next((about for path in files if (about := environment_file.read(path)).problem), None)
    if broken is not None:
        raise ConfigError([Problem(word, broken.problem)], what=str(broken.path))
    if not files:
        message = (
            f"no file {parts.file} lies in an allowed folder; put it back, or allow its folder: mosaic envs add DIR."
            " Runs and policies keep a copy: mosaic envs copy RUN DIR"
        )
        raise ConfigError([Problem(word, message)], what=f"{kind} of a user")
    raise ConfigError([Problem(word, no_such_name(files[0], parts.name, kind))], what=str(files[0]))


def no_such_name(path: Path, name: str, kind: Kind) -> str:
    """What to say of a name that a file does not define."""
    about = environment_file.read(path)
    listed = about.named(kind)
    advice = did_you_mean(name, listed or sorted(about.defined), most=2)
    has = f"its {kind}s are {', '.join(listed)}" if listed else f"it has no {kind}s that can be recognised"
    return f"{path.name} defines no {name}; {advice or has}"


def _single(ones: list[OwnCode]) -> OwnCode:
    if len(ones) == 1:
        return ones[0]
    listed = " and ".join(str(one.file) for one in ones)
    problem = f"is there {len(ones)} times, in {listed}; rename one of the files, or what it defines"
    return replace(ones[0], problem=problem)
