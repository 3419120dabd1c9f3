"""The last run that was started from the window, and JSON files that a user chooses."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from mosaic import config
from mosaic.config import JsonObject
from mosaic.errors import MosaicError
from mosaic.spec.run_dir import Home

R = TypeVar("R")


class StoreFailed(MosaicError):
    """A file of the window could not be read or written."""


class LastRun:
    """`<home>/gui/last-run.json`: a run config in the open format, without secrets."""

    def __init__(self, home: Home) -> None:
        self._path = home.root / "gui" / "last-run.json"

    def save(self, document: JsonObject) -> None:
        write_document(self._path, document)

    def load(self) -> JsonObject | None:
        return read_document(self._path) if self._path.exists() else None


def read_document(path: Path) -> JsonObject:
    return config.loads(_attempt(path, Path.read_bytes), what=str(path))


def write_document(path: Path, document: JsonObject) -> None:
    """Old or new, never a part; not synced, because the disk may take longer than a window may stand still."""

    def write(path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name[:200]}.{os.getpid()}.tmp")
        try:
            temporary.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
            temporary.replace(path)
        except BaseException:  # Any error, Ctrl-C too: no half file stays, and the caller gets the error.
            temporary.unlink(missing_ok=True)
            raise

    _attempt(path, write)


def _attempt(path: Path, does: Callable[[Path], R]) -> R:
    try:
        return does(path)
    except OSError as error:
        raise StoreFailed(
            f"{path}: {error.strerror or error}; choose another folder or correct its permissions"
        ) from error
