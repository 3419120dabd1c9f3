"""Algorithms and environments, as a worker process describes them; cached by the digest of the sources.

The scripts of the allowed folders are algorithms too; they are read here, at each question, and never run.

The daemon never imports torch or gymnasium: `python -m cleanrl_worker.describe` does, once, and prints JSON.
"""

import json
import threading
from collections.abc import Callable
from typing import Any

from mosaic import config
from mosaic.errors import MosaicError, UnknownAlgorithm
from mosaic.log import get_logger
from mosaic.scripts import gate, packages, page
from mosaic.scripts.allowed import Allowed
from mosaic.scripts.script import is_script
from mosaic.spec.files import write_atomically
from mosaic.spec.python_child import PythonChild
from mosaic.spec.run_config import TrainExtras, WorkerConfig
from mosaic.spec.run_dir import Home
from mosaic.trainer.sources import sources_digest

DESCRIBE = "cleanrl_worker.describe"
DESCRIBE_TIMEOUT_S = 120.0
MODULE = "script_module"
"""Setting of a script."""

log = get_logger()


class CatalogUnavailable(MosaicError):
    """The describing process failed."""


class Catalog:
    """What there is to train, and where."""

    def __init__(self, home: Home, *, warm_output_of: Callable[[str], bytes | None]) -> None:
        self._path = home.trainer / "catalog.json"
        self._allowed = Allowed(home)
        self._warm_output_of = warm_output_of
        """What a module prints in the warm worker, which has imported all that is slow to import; None if it fails."""
        self._lock = threading.Lock()
        self._digest = ""
        self._content: dict[str, Any] = {}
        self._classes: dict[str, type[Any]] = {}

    def content(self) -> dict[str, Any]:
        """{"algorithms": [...], "families": [...]}, made anew when a source or a package changed."""
        with self._lock:
            digest = sources_digest()
            if digest != self._digest:
                self._content = self._stored(digest) or self._describe(digest)
                self._digest = digest
                self._classes = {}
            return self._content

    def algorithms(self) -> list[dict[str, Any]]:
        """Our own, and the scripts that may be run."""
        return [*self.content()["algorithms"], *map(page.described, self._allowed.scripts())]

    def settings_of(self, algo: str) -> type[Any]:
        """A config class made from the algorithm's schema: the same rules as in the worker."""
        if is_script(algo):
            return config.class_from_schema(self._allowed.read(algo).schema, name=algo)
        content = self.content()
        schemas = {item["name"]: item["schema"] for item in content["algorithms"]}
        if algo not in schemas:
            import difflib

            near = difflib.get_close_matches(algo, schemas, n=3)
            raise UnknownAlgorithm(algo, near, hint=f"there are {', '.join(sorted(schemas))}")
        if algo not in self._classes:
            self._classes[algo] = config.class_from_schema(schemas[algo], name=algo)
        return self._classes[algo]

    def refuse_code(self, worker: WorkerConfig) -> None:
        """ConfigError with all code that a config names and that may not run here; MissingPackage for what it lacks."""
        gate.refuse_code(worker, self._allowed)
        if is_script(worker.algo) and isinstance(worker.extras, TrainExtras):
            packages.refuse_missing(self._allowed.read(worker.algo), str(worker.extras.algo_params.get(MODULE, "")))

    def sees_pixels(self, algo: str) -> bool:
        """Whether an algorithm of ours learns from pictures."""
        return any(one["name"] == algo and one["observations"] == "pixels" for one in self.content()["algorithms"])

    def _stored(self, digest: str) -> dict[str, Any] | None:
        try:
            stored = config.any_json(self._path.read_bytes())
            return stored["content"] if stored["digest"] == digest else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _describe(self, digest: str) -> dict[str, Any]:
        output = self._warm_output_of(DESCRIBE) or _cold_output()
        try:
            content: dict[str, Any] = json.loads(output)
        except ValueError:
            content = json.loads(_cold_output())
        log.info("catalog.described", algorithms=len(content["algorithms"]))
        try:
            write_atomically(self._path, json.dumps({"digest": digest, "content": content}))
        except OSError as error:  # a cache, which the next daemon makes again
            log.warning("catalog.not_stored", error=str(error))
        return content


def _cold_output() -> bytes:
    done = PythonChild(module=DESCRIBE).run(capture_output=True, timeout=DESCRIBE_TIMEOUT_S)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise CatalogUnavailable(f"the worker could not describe itself: {said[-1] if said else done.returncode}")
    return done.stdout
