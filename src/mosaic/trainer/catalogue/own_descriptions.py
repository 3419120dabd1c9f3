"""What code of users says of itself: each piece described by a worker process, again when its folder has changed.

A description executes the file, so that its settings, and what is wrong with it, are those of the run that follows.
They are kept in a file of the home, a cache.
"""

import hashlib
import json
import os
import subprocess
import threading
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Protocol

from mosaic import config
from mosaic.log import get_logger
from mosaic.spec.catalogue.shipped_catalogue import Document
from mosaic.spec.files.shared_files import write_atomically
from mosaic.spec.processes.python_child import PythonChild
from mosaic.spec.run_dir import Home
from mosaic.trainer.catalogue.sources_digest import sources_digest

DESCRIBE = "cleanrl_worker.describe"
TIMEOUT_S = 60.0

log = get_logger()


class Warm(Protocol):
    """The warm worker, which has imported all that is slow to import."""

    def __call__(self, module: str, words: Sequence[str] = (), *, timeout_s: float | None = None) -> bytes | None:
        """What a module prints there; None if it fails. With a limit it is used only if it is ready at once."""
        ...


class Described(Protocol):
    """Something of a user's that a worker can describe."""

    @property
    def name(self) -> str: ...
    @property
    def place(self) -> str: ...
    @property
    def file(self) -> Path | None:
        """None for what is installed."""
        ...


class OwnDescriptions:
    """Of one home and one kind of code."""

    def __init__(self, home: Home, *, warm_output_of: Warm, cache: str, flag: str) -> None:
        self._home = home
        self._path = home.trainer / cache
        self._flag = flag
        """Of the describing program, before the name."""
        self._warm_output_of = warm_output_of
        self._lock = threading.Lock()
        self._describing = threading.Lock()
        self._known: dict[str, Document] | None = None

    def known_of(self, one: Described) -> Document | None:
        """What is known without waiting; None if it must be described."""
        with self._lock:
            found = self._stored().get(one.place, {})
            return found if found.get("stamp") == _stamp(one, found.get("file", "")) else None

    def of(self, one: Described) -> Document:
        """What a worker says of it; this may wait for one."""
        with self._describing:
            found = self.known_of(one)
            if found is None:
                # Before it is read: what is changed meanwhile is described again.
                stamp = _stamp(one, "")
                found = self._describe(one)
                if one.file is None:
                    stamp = _stamp(one, found.get("file", ""))
                found |= {"stamp": stamp}
                with self._lock:
                    self._stored()[one.place] = found
                    self._store()
            return found

    def _describe(self, one: Described) -> Document:
        words = (self._flag, one.name)
        output = self._warm_output_of(DESCRIBE, words, timeout_s=TIMEOUT_S) or self._cold_output(words)
        try:
            found: Document = json.loads(output)
        except ValueError:
            said = output.decode(errors="replace").strip().splitlines()
            found = {"problem": f"could not be imported: {said[-1] if said else 'its process ended without a message'}"}
        log.info("own_code.described", name=one.name, place=one.place, problem=found["problem"])
        return found

    def _cold_output(self, words: tuple[str, ...]) -> bytes:
        child = PythonChild(module=DESCRIBE, words=words, variables={"MOSAIC_HOME": str(self._home.root)})
        try:
            done = child.run(capture_output=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return f"it takes more than {TIMEOUT_S:.0f} s".encode()
        return done.stdout if done.returncode == 0 else done.stderr

    def _stored(self) -> dict[str, Document]:
        if self._known is None:
            try:
                self._known = dict(config.any_json(self._path.read_bytes()))
            except (OSError, ValueError, TypeError):
                self._known = {}
        return self._known

    def _store(self) -> None:
        try:
            write_atomically(self._path, json.dumps(self._known))
        except OSError as error:  # a cache, which the next daemon makes again
            log.warning("own_code.not_stored", error=str(error))


def _stamp(one: Described, file: str) -> str:
    """Changes with the file, with those beside it, which it may import, and with our own sources."""
    state = hashlib.sha256(f"{sources_digest()}\n{one.place}\n".encode())
    path = one.file or (Path(file) if file else None)
    if path is not None:
        for beside in sorted(chain(path.parent.glob("*.py"), path.parent.glob("*/*.py"))):
            try:
                about = beside.stat()
            except OSError:
                continue
            # A name may be any bytes, not only UTF-8.
            state.update(os.fsencode(beside) + f":{about.st_mtime_ns}:{about.st_size}\n".encode())
    return state.hexdigest()
