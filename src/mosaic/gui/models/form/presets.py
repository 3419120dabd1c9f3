"""Documents that the window keeps for a person: presets by name, and the last run that was started."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, unquote

from mosaic import config
from mosaic.config import JsonObject
from mosaic.errors import MosaicError
from mosaic.spec.run_dir import Home

R = TypeVar("R")
LONGEST_NAME = 80
"""Characters; nine bytes each at most, as a file name writes them."""


class StoreFailed(MosaicError):
    """A file of the window could not be read or written."""


class Presets:
    """JSON files in `<home>/gui/`: run configs in the open format, without secrets."""

    def __init__(self, home: Home) -> None:
        self._folder = home.root / "gui" / "presets"
        self._last = home.root / "gui" / "last-run.json"

    def names(self) -> list[str]:
        try:
            files = [path.name for path in self._folder.iterdir()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreFailed(f"{self._folder} cannot be read: {error.strerror}") from error
        return sorted((unquote(name.removesuffix(".json")) for name in files if name.endswith(".json")), key=str.lower)

    def save(self, name: str, document: JsonObject) -> None:
        write_document(self._file(name), document)

    def load(self, name: str) -> JsonObject:
        return read_document(self._file(name))

    def delete(self, name: str) -> None:
        _attempt(self._file(name), lambda path: path.unlink(missing_ok=True))

    def save_last(self, document: JsonObject) -> None:
        write_document(self._last, document)

    def load_last(self) -> JsonObject | None:
        return read_document(self._last) if self._last.exists() else None

    def _file(self, name: str) -> Path:
        if not name.strip() or len(name) > LONGEST_NAME or len(quote(name, safe=" ")) > 240:
            raise StoreFailed(f"a preset needs a name of at most {LONGEST_NAME} characters")
        # A dot is not quoted, but ".json" behind it keeps any name from being a folder.
        return self._folder / f"{quote(name.strip(), safe=' ')}.json"


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
