"""What algorithms of users say of themselves: each described by a worker process, again when its folder has changed.

A description runs the file, so that its settings, and what is wrong with it, are those of the run that follows. They
are kept in `own-algorithms.json`, a cache.
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
from mosaic.errors import ConfigError, Problem
from mosaic.log import get_logger
from mosaic.scripts import own_algorithms
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.own_algorithms import OwnAlgorithm
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


class OwnDocuments:
    """Of one home."""

    def __init__(self, home: Home, *, warm_output_of: Warm) -> None:
        self._home = home
        self._path = home.trainer / "own-algorithms.json"
        self._allowed = Allowed(home)
        self._warm_output_of = warm_output_of
        self._lock = threading.Lock()
        self._describing = threading.Lock()
        self._known: dict[str, Document] | None = None

    def document(self) -> Document:
        """What is known without waiting, of those that can be trained with, with the place of each."""
        with self._lock:
            known = self._stored()
            entries = [
                found["algorithm"] | {"place": one.place}
                for one in own_algorithms.known(self._allowed)
                if not one.problem and self._is_fresh(one) and not (found := known[one.place])["problem"]
            ]
        return {"algorithms": entries}

    def refresh(self) -> None:
        """Describe what is new or has changed; this waits for a worker."""
        for one in own_algorithms.known(self._allowed):
            if not one.problem:
                self._of(one)

    def broken(self) -> list[tuple[OwnAlgorithm, str]]:
        """Those that cannot be trained with, and why."""
        known = ((one, one.problem or self._of(one)["problem"]) for one in own_algorithms.known(self._allowed))
        return [(one, problem) for one, problem in known if problem]

    def schema_of(self, name: str) -> Document | None:
        """None if no algorithm of a user's has this name; ConfigError with what is wrong with the one that has it."""
        one = None if name in own_algorithms.built_in() else own_algorithms.find(name, self._allowed)
        if one is None:
            return None
        if one.problem:
            raise one.error
        found = self._of(one)
        if found["problem"]:
            raise ConfigError([Problem(one.name, found["problem"])], what=one.place)
        return found["algorithm"]["schema"]

    def _of(self, one: OwnAlgorithm) -> Document:
        with self._describing:
            if not self._is_fresh(one):
                # Before it is read: what is changed meanwhile is described again.
                stamp = _stamp(one, "")
                found = self._describe(one)
                if one.file is None:
                    stamp = _stamp(one, found.get("file", ""))
                with self._lock:
                    self._stored()[one.place] = found | {"stamp": stamp}
                    self._store()
            return self._stored()[one.place]

    def _is_fresh(self, one: OwnAlgorithm) -> bool:
        before = self._stored().get(one.place, {})
        return before.get("stamp") == _stamp(one, before.get("file", ""))

    def _describe(self, one: OwnAlgorithm) -> Document:
        words = ("--algo", one.name)
        output = self._warm_output_of(DESCRIBE, words, timeout_s=TIMEOUT_S) or self._cold_output(words)
        try:
            found: Document = json.loads(output)
        except ValueError:
            said = output.decode(errors="replace").strip().splitlines()
            found = {"problem": f"could not be imported: {said[-1] if said else 'its process ended without a message'}"}
        log.info("algorithm.described", name=one.name, place=one.place, problem=found["problem"])
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
            log.warning("algorithm.not_stored", error=str(error))


def _stamp(one: OwnAlgorithm, file: str) -> str:
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
