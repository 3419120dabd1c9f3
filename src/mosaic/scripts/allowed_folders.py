"""Folders whose code may run: `scripts.json` in the home, edited by `mosaic scripts`, `mosaic algos` and `mosaic envs`.

Only on the machine of the daemon: a client that may submit runs from afar may not choose which code they run. What lies
in a run directory, among those of the home or in an allowed folder, never runs: run directories come from others, too.
"""

import json
import os
import shlex
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from mosaic.errors import ConfigError, MosaicError, Problem
from mosaic.scripts import algorithm_file, script
from mosaic.scripts.script import Script
from mosaic.spec.files.shared_files import one_at_a_time, write_atomically
from mosaic.spec.run_dir import MARKERS, SOURCES, Home, is_run_folder, is_run_id

_KINDS = {"scripts": "scripts", "algos": "algorithms", "envs": "environments"}
"""What the verb that allows a folder calls its code."""
MAX_DEPTH = 3
MAX_SCRIPTS = 500
SKIPPED = frozenset({"__pycache__", "site-packages", "node_modules", "tests", "test", "build", "dist", "docs", "venv"})


class Allowed:
    """The folders of a home."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._path = home.trainer / "scripts.json"
        self._lock = home.trainer / "scripts.lock"

    def folders(self) -> list[Path]:
        try:
            content = json.loads(self._path.read_bytes())
            return [Path(str(folder)) for folder in content["folders"]]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                [Problem("", f"cannot be read: {error}; delete it and add the folders again")], what=str(self._path)
            ) from error

    def add(self, folder: Path, *, verb: str = "scripts") -> Path:
        """Allow the code of a folder and of those in it; the folder after symlinks."""

        def refused(why: str) -> ConfigError:
            return ConfigError([Problem(str(folder), why)], what=f"mosaic {verb} add")

        try:
            real = folder.expanduser().resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise refused(f"is not a folder: {error}") from error
        if not real.is_dir():
            raise refused("is not a folder; give the one that holds the files")
        if _is_too_wide(real):
            raise refused("is too wide; give the folder that holds the files")
        if (run := _run_with_sources(real)) is not None:
            raise refused(
                f"lies in the run directory {run}, and nothing there may run; copy the code to another folder"
            )
        with self._changing():
            self._write([*(one for one in self.folders() if one != real), real])
        return real

    def remove(self, folder: Path, *, verb: str = "scripts") -> Path:
        real = Path(os.path.abspath(folder.expanduser()))  # noqa: PTH100
        with self._changing():
            known = self.folders()
            for candidate in (real, real.resolve()):
                if candidate in known:
                    self._write([one for one in known if one != candidate])
                    return candidate
        listed = ", ".join(map(str, known)) or "none"
        raise ConfigError(
            [Problem(str(folder), f"is not among the allowed folders: {listed}")], what=f"mosaic {verb} remove"
        )

    def real_path(self, path: Path, *, verb: str = "scripts") -> Path:
        """Code that a config names, after symlinks, if it may run; ConfigError with what to type if it may not.

        What runs is the file at this path, and what it imports lies beside this path: a link elsewhere changes neither.
        """
        try:
            path = path.expanduser()
            real = path.resolve()
            holding = [folder for folder in self.folders() if real.is_relative_to(folder.resolve())]
        except (OSError, ValueError, RuntimeError) as error:
            raise _refused(f"{str(path)!r} cannot be the path of a file: {error}") from error
        if not path.is_absolute():
            raise _refused(f"'{path}' is not an absolute path of a file")
        if self._is_ours(real):
            raise _refused(f"{path} lies where runs are kept, and nothing there may run; copy it to another folder")
        if not holding:
            raise _refused(f"{path} lies in no folder whose {_KINDS[verb]} may run; {_how_to_allow(real, verb)}")
        runs = [_run_between(real, folder.resolve()) for folder in holding]
        if None not in runs:
            message = f"lies in the run directory {runs[0]}, and nothing there may run; copy it to another folder"
            raise _refused(f"{path} {message}")
        return real

    def holding(self, folder: Path) -> Path | None:
        """The allowed folder in which a folder lies that may not be there yet; code in it may run at once."""
        real = folder.resolve()
        return next((one for one in self.folders() if real.is_relative_to(one.resolve())), None)

    def _is_ours(self, real: Path) -> bool:
        return real.is_relative_to(self._home.trainer.resolve())

    def read(self, algo: str) -> Script:
        """The script that a config names, allowed and readable."""
        path = self.real_path(Path(algo))
        about = algorithm_file.read(path)
        if about.is_listed and not about.problem:
            raise _refused(f"{path} is an algorithm, not a script; name it '{about.name}'")
        return script.read(path)

    def scripts(self) -> Iterator[Script]:
        """Those in all folders that look like training scripts; broken ones and algorithms are left out."""
        for path in self.candidates():
            if algorithm_file.read(path).is_listed:
                continue
            try:
                found = script.read(path)
            except MosaicError:
                continue
            if found.trains:
                yield found

    def candidates(self) -> Iterator[Path]:
        """Python files in all folders, each once, however many folders hold it."""
        seen: set[Path] = set()
        for folder in self.folders():
            for path in _candidates(folder):
                # A link may lead out of the folder.
                real = path.resolve()
                if path in seen or len(seen) >= MAX_SCRIPTS or not real.is_relative_to(folder) or self._is_ours(real):
                    continue
                if real != path and _run_between(real, folder) is not None:
                    continue
                seen.add(path)
                yield path

    @contextmanager
    def _changing(self) -> Generator[None]:
        """Two that read, change and write at once would lose a folder."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with one_at_a_time(self._lock):
            yield

    def _write(self, folders: list[Path]) -> None:
        write_atomically(self._path, json.dumps({"folders": [str(folder) for folder in folders]}, indent=1) + "\n")


def _refused(message: str) -> ConfigError:
    return ConfigError([Problem("", message)], what="code of a user")


def _is_too_wide(folder: Path) -> bool:
    return Path.home().resolve().is_relative_to(folder)


def _run_between(real: Path, folder: Path) -> Path | None:
    """The run directory in which something of an allowed folder lies; the allowed folder may be one, too."""
    parents = (place for place in (real, *real.parents) if place.is_relative_to(folder))
    return next((place for place in parents if is_run_folder(place)), None)


def _run_with_sources(real: Path) -> Path | None:
    """The run directory that this folder is, or among whose copies of code it lies."""
    holders = (place.parent for place in (real, *real.parents) if place.name == SOURCES)
    return next((place for place in (real, *holders) if is_run_folder(place)), None)


def _how_to_allow(real: Path, verb: str) -> str:
    folder = real.parent if real.suffix == script.SUFFIX else real
    if _is_too_wide(folder):
        return f"move it into a folder of its own, and allow that: mosaic {verb} add DIR"
    return f"to allow it: mosaic {verb} add {shlex.quote(str(folder))}"


def _candidates(folder: Path, depth: int = 0) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    if is_run_id(folder.name) or any(entry.name in MARKERS for entry in entries):
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in SKIPPED:
            continue
        if entry.is_dir() and not entry.is_symlink() and depth < MAX_DEPTH:
            yield from _candidates(entry, depth + 1)
        elif entry.suffix == script.SUFFIX and entry.is_file():
            yield entry
