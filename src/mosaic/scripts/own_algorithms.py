"""Algorithms that are not ours: files in the allowed folders, and modules of installed packages; found, never run here.

A file is known by its name without `.py`; an installed one by the name of its entry point in the group
`mosaic.algorithms`, whose value is the module. A name is unique: what would hide one of our algorithms, or is there
twice, is listed with that problem and cannot be trained with.
"""

import importlib.util
import os
import re
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from mosaic.errors import ConfigError, Problem
from mosaic.scripts import algorithm_file
from mosaic.scripts.allowed_folders import Allowed

GROUP = "mosaic.algorithms"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True)
class OwnAlgorithm:
    """Where one comes from."""

    name: str
    file: Path | None = None
    """Of an allowed folder; None for an installed one."""
    module: str = ""
    """Of an installed one."""
    package: str = ""
    """Its distribution and version."""
    problem: str = ""
    """Why it cannot be trained with."""

    @property
    def place(self) -> str:
        return _spelled(self.file) if self.file else f"{self.module} of {self.package}"

    @property
    def error(self) -> ConfigError:
        return ConfigError([Problem(self.name, self.problem)], what=self.place)


def known(allowed: Allowed) -> list[OwnAlgorithm]:
    """All of them by name, also those that cannot be used, with the reason."""
    found = [_of_file(path) for path in allowed.candidates() if algorithm_file.read(path).is_listed]
    places = defaultdict[str, list[OwnAlgorithm]](list)
    for one in (*found, *_installed(_search_path())):
        places[one.name].append(one)
    return [_checked(name, ones) for name, ones in sorted(places.items())]


def find(name: str, allowed: Allowed) -> OwnAlgorithm | None:
    """The one of a name; None if there is none."""
    return next((one for one in known(allowed) if one.name == name), None)


def built_in() -> frozenset[str]:
    """Names of our own, found without importing anything."""
    found = importlib.util.find_spec("cleanrl_worker")
    folders = [Path(place) / "algorithms" for place in (found.submodule_search_locations or [])] if found else []
    return frozenset(path.stem for folder in folders for path in folder.glob("[!_]*.py"))


def refuse_name(name: str) -> str:
    """Why no algorithm of a user's can have this name; empty if one can."""
    if not _NAME.fullmatch(name):
        return f"'{name}' cannot be the name of an algorithm: use letters, digits and _, a letter first"
    if name in built_in():
        return f"would hide the algorithm '{name}' of MOSAIC; give it another name"
    if name in sys.stdlib_module_names:
        return f"would hide the module '{name}' of Python; give it another name"
    return ""


def _of_file(path: Path) -> OwnAlgorithm:
    return OwnAlgorithm(_spelled(path.stem), file=path, problem=algorithm_file.read(path).problem)


def _spelled(path: Path | str) -> str:
    """Fit for a message and for a screen: the name of a file may be any bytes, not only UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


def _checked(name: str, ones: list[OwnAlgorithm]) -> OwnAlgorithm:
    first = ones[0]
    problem = refuse_name(name)
    if not problem and len(ones) > 1:
        listed = " and ".join(one.place for one in ones)
        problem = f"is the name of {len(ones)} algorithms, {listed}; rename one of them"
    return replace(first, problem=problem or first.problem)


def _search_path() -> tuple[tuple[str, int], ...]:
    """Changes when a package is installed or removed."""
    found: list[tuple[str, int]] = []
    for place in sys.path:
        try:
            found.append((place, Path(place).stat().st_mtime_ns))
        except OSError:
            continue
    return tuple(found)


@lru_cache(maxsize=1)
def _installed(_: tuple[tuple[str, int], ...]) -> tuple[OwnAlgorithm, ...]:
    entries = metadata.entry_points(group=GROUP)
    return tuple(
        OwnAlgorithm(
            entry.name,
            module=entry.value.partition(":")[0].strip(),
            package=f"{entry.dist.name} {entry.dist.version}" if entry.dist else "a package",
        )
        for entry in sorted(entries, key=lambda entry: entry.name)
    )
