"""Folders whose scripts may be run: `scripts.json` in the home, edited by `mosaic scripts`; nobody else's may.

Only on the machine of the daemon: whoever may submit runs from afar may not choose which code they run.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from mosaic.errors import ConfigError, MosaicError, Problem
from mosaic.scripts import script
from mosaic.scripts.script import Script
from mosaic.spec.files import write_atomically
from mosaic.spec.run_dir import Home

MAX_DEPTH = 3
MAX_SCRIPTS = 500
SKIPPED = frozenset({"__pycache__", "site-packages", "node_modules", "tests", "test", "build", "dist", "docs", "venv"})


class Allowed:
    """The folders of a home."""

    def __init__(self, home: Home) -> None:
        self._path = home.trainer / "scripts.json"

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

    def add(self, folder: Path) -> Path:
        """Allow the scripts of a folder and of those in it; the folder after symlinks."""
        try:
            real = folder.expanduser().resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise ConfigError([Problem(str(folder), f"is no folder: {error}")], what="mosaic scripts add") from error
        if not real.is_dir():
            raise ConfigError(
                [Problem(str(folder), "is no folder; give the one that holds the scripts")], what="mosaic scripts add"
            )
        if Path.home().resolve().is_relative_to(real):
            raise ConfigError(
                [Problem(str(folder), "is too wide; give the folder that holds the scripts")], what="mosaic scripts add"
            )
        self._write([*(one for one in self.folders() if one != real), real])
        return real

    def remove(self, folder: Path) -> Path:
        real = Path(os.path.abspath(folder.expanduser()))  # noqa: PTH100
        known = self.folders()
        for candidate in (real, real.resolve()):
            if candidate in known:
                self._write([one for one in known if one != candidate])
                return candidate
        listed = ", ".join(map(str, known)) or "none"
        raise ConfigError(
            [Problem(str(folder), f"is not among the allowed folders: {listed}")], what="mosaic scripts remove"
        )

    def folder_of(self, path: Path) -> Path:
        """The allowed folder that holds a script, the innermost one; ConfigError with what to type if there is none."""
        real = path.resolve()
        holding = [folder for folder in self.folders() if real.is_relative_to(folder.resolve())]
        if not holding:
            message = f"{path} lies in no folder whose scripts may run; to allow it: mosaic scripts add {path.parent}"
            raise ConfigError([Problem("metadata.worker.config.algo", message)], what="run config")
        return max(holding, key=lambda folder: len(folder.parts))

    def read(self, algo: str) -> Script:
        """The script that a config names, allowed and readable."""
        path = Path(algo)
        if not path.is_absolute():
            raise ConfigError(
                [Problem("metadata.worker.config.algo", f"'{algo}' is no absolute path of a script")], what="run config"
            )
        self.folder_of(path)
        return script.read(path)

    def scripts(self) -> Iterator[Script]:
        """Those in all folders that look like training scripts; broken ones are left out."""
        seen: set[Path] = set()
        for folder in self.folders():
            for path in _candidates(folder):
                # A link may lead out of the folder.
                if path in seen or len(seen) >= MAX_SCRIPTS or not path.resolve().is_relative_to(folder):
                    continue
                seen.add(path)
                try:
                    found = script.read(path)
                except MosaicError:
                    continue
                if found.trains:
                    yield found

    def _write(self, folders: list[Path]) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(self._path, json.dumps({"folders": [str(folder) for folder in folders]}, indent=1) + "\n")


def _candidates(folder: Path, depth: int = 0) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in SKIPPED:
            continue
        if entry.is_dir() and not entry.is_symlink() and depth < MAX_DEPTH:
            yield from _candidates(entry, depth + 1)
        elif entry.suffix == script.SUFFIX and entry.is_file():
            yield entry
