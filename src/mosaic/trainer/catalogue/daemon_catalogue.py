"""Algorithms, environments and actors: what ships with the package, and what a worker describes where that is stale.

The daemon never imports torch or gymnasium. What is shipped (`mosaic.spec.catalogue.shipped_catalogue`) is there at
once. Where some of it does not hold (an algorithm's file was changed, another version of an environment's package is
installed), the worker program of that part (`DESCRIBERS`) describes it, once; the answer is cached by the digest of the
sources.

Algorithms, environments and wrappers of users have descriptions of their own (`own_descriptions`). The scripts of the
allowed folders are algorithms too; they are read here, at each question, and never run.
"""

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mosaic import config
from mosaic.errors import MosaicError, Problem, UnknownAlgorithm
from mosaic.log import get_logger
from mosaic.scripts import code_gate, missing_packages, script_page
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.script import is_script
from mosaic.spec import own_code
from mosaic.spec.catalogue import known_environments, shipped_catalogue
from mosaic.spec.catalogue.known_environments import Found
from mosaic.spec.catalogue.shipped_catalogue import Document, Holding, merged
from mosaic.spec.files.shared_files import write_atomically
from mosaic.spec.processes.python_child import PythonChild
from mosaic.spec.run_config import TrainExtras, TrainRunConfig
from mosaic.spec.run_dir import Home
from mosaic.spec.wrappers import of_users
from mosaic.trainer.catalogue.own_algorithm_documents import OwnAlgorithmDocuments
from mosaic.trainer.catalogue.own_descriptions import Warm
from mosaic.trainer.catalogue.own_environment_documents import OwnEnvironmentDocuments
from mosaic.trainer.catalogue.sources_digest import sources_digest
from mosaic.trainer.runs import refusal

DESCRIBE_TIMEOUT_S = 120.0
MODULE = "script_module"
"""Setting of a script."""

log = get_logger()


class CatalogueUnavailable(MosaicError):
    """The describing process failed."""


class Catalogue:
    """What there is to train, and where, and who can play."""

    def __init__(self, home: Home, *, warm_output_of: Warm) -> None:
        self._path = home.trainer / "catalog.json"
        self._allowed = Allowed(home)
        self._warm_output_of = warm_output_of
        """What a module prints in the warm worker, which has imported all that is slow to import; None if it fails."""
        self.own = OwnAlgorithmDocuments(home, warm_output_of=warm_output_of)
        self.own_environments = OwnEnvironmentDocuments(home, warm_output_of=warm_output_of)
        """Of what lies outside of the package; asked at each question."""
        self._reading = threading.Lock()
        self._describing = threading.Lock()
        self._digest = ""
        self._shipped = Holding({}, ())
        self._described: tuple[str, Document] = ("", {})
        """A document and the digest of the sources that it describes."""
        self._classes: tuple[str, dict[str, type[Any]]] = ("", {})

    def content(self) -> Document:
        """All of it; waits for a worker where something of the package must be described."""
        digest, shipped = self._look()
        return self._with_own(self._describe(digest, shipped) if shipped.stale else shipped.document)

    def known(self) -> Holding:
        """What is known without waiting, and which parts and families are not."""
        digest, shipped = self._look()
        described_for, document = self._described
        if described_for == digest:
            return Holding(self._with_own(document), ())
        return Holding(self._with_own(shipped.document), shipped.stale)

    def part(self, name: str) -> list[dict[str, Any]]:
        """One of `algorithms`, `families`, `wrappers` and `actors`; waits only if this one must be described."""
        found = self.known()
        # Of the families only some may be stale.
        is_whole = name in found.document and not (found.stale and name == "families")
        return (found.document if is_whole else self.content())[name]

    def algorithms(self) -> list[dict[str, Any]]:
        """Those of this version, those of users, and the scripts that may be run."""
        self.own.refresh()
        return [*self.part("algorithms"), *map(script_page.described, self._allowed.scripts())]

    def settings_of(self, algo: str) -> type[Any]:
        """A config class made from the algorithm's schema: the same rules as in the worker."""
        if is_script(algo):
            return config.class_from_schema(self._allowed.read(algo).schema, name=algo)
        # Made anew each time: a user edits the file between two runs.
        if (own := self.own.schema_of(algo)) is not None:
            return config.class_from_schema(own, name=algo)
        schemas = {item["name"]: item["schema"] for item in self.part("algorithms")}
        if algo not in schemas:
            import difflib

            near = difflib.get_close_matches(algo, schemas, n=3)
            raise UnknownAlgorithm(algo, near, hint=f"there are {', '.join(sorted(schemas))}")
        if self._classes[0] != self._digest:
            self._classes = (self._digest, {})
        classes = self._classes[1]
        if algo not in classes:
            classes[algo] = config.class_from_schema(schemas[algo], name=algo)
        return classes[algo]

    def refuse_code(self, parsed: TrainRunConfig) -> None:
        """ConfigError with all code that a config names and that may not run here; MissingPackage for what it lacks."""
        worker = parsed.metadata.worker.config
        code_gate.refuse_code(worker, self._allowed, parsed.environment.settings)
        if is_script(worker.algo) and isinstance(worker.extras, TrainExtras):
            missing_packages.refuse_missing(
                self._allowed.read(worker.algo), str(worker.extras.algo_params.get(MODULE, ""))
            )

    def sees_pixels(self, algo: str) -> bool:
        """Whether an algorithm of ours learns from pictures."""
        return any(one["name"] == algo and one["observations"] == "pixels" for one in self.part("algorithms"))

    def misfits_of(self, parsed: TrainRunConfig) -> list[Problem]:
        """What speaks against a run, as far as that is known without waiting; code of users is described for it."""
        env_id = parsed.metadata.worker.config.env_id
        known = self.known()
        if own_code.is_reference(env_id):
            known = self._with_this(known, env_id)
        own_wrappers = {
            name: self.own_environments.schema_of_wrapper(name) for name in of_users(parsed.environment.settings)
        }
        return refusal.problems_of(parsed, known, own_wrappers=own_wrappers)

    def environment(self, env_id: str, *, wrappers: Sequence[str] = ()) -> Found:
        """What is known of one environment; waits for a worker only if its family must be described.

        `wrappers` are those of users whose arguments are asked for too.
        """
        known = self.known()
        if own_code.is_reference(env_id):
            known = self._with_this(known, env_id)
        own = [self.own_environments.schema_of_wrapper(name) for name in wrappers]
        kinds = [*self.part("wrappers"), *own]
        found = known_environments.look(env_id, known.document.get("families", ()), stale=known.stale, wrappers=kinds)
        if found.status == "unknown" and ":" not in env_id:
            found = known_environments.look(env_id, self.part("families"), wrappers=kinds)
        return found

    def environments(self) -> list[dict[str, Any]]:
        """The families of this version, and the environments of users."""
        self.own_environments.refresh()
        return self.part("families")

    def _with_this(self, known: Holding, env_id: str) -> Holding:
        """An environment of a user's is described when it is asked for; the error says what is wrong with it."""
        family = self.own_environments.family_of(env_id)
        others = [one for one in known.document.get("families", ()) if one["name"] != family["name"]]
        return replace(known, document={**known.document, "families": [*others, family]})

    def _with_own(self, document: Document) -> Document:
        # A part that is not known of the package stays unknown: with some entries it would look whole.
        given = (self.own.document(), self.own_environments.document())
        parts = ({part: found for part, found in one.items() if part in document} for one in given)
        return merged(document, *parts)

    def _look(self) -> tuple[str, Holding]:
        """The digest of the sources, and what of the shipped catalogue holds for them."""
        with self._reading:
            digest = sources_digest()
            if digest != self._digest:
                self._shipped = shipped_catalogue.holding()
                self._digest = digest
            return digest, self._shipped

    def _describe(self, digest: str, shipped: Holding) -> Document:
        """What is shipped, with the workers' own descriptions of the parts that are stale; one asks at a time."""
        with self._describing:
            if self._described[0] != digest:
                described = self._stored(digest) or self._ask(digest, shipped)
                self._described = (digest, shipped_catalogue.with_missing(described))
            return self._described[1]

    def _stored(self, digest: str) -> Document | None:
        try:
            stored = config.any_json(self._path.read_bytes())
            return stored["content"] if stored["digest"] == digest else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _ask(self, digest: str, shipped: Holding) -> Document:
        content = dict(shipped.document)
        # What is stale and no part is a family.
        stale = {name if name in shipped_catalogue.KEYS else "families" for name in shipped.stale}
        for program, parts in shipped_catalogue.DESCRIBERS.items():
            if not stale.isdisjoint(parts):
                content |= self._output_of(program)
        log.info("catalog.described", algorithms=len(content["algorithms"]), stale=shipped.stale)
        try:
            write_atomically(self._path, json.dumps({"digest": digest, "content": content}))
        except OSError as error:  # a cache, which the next daemon makes again
            log.warning("catalog.not_stored", error=str(error))
        return content

    def _output_of(self, program: str) -> Document:
        try:
            return json.loads(self._warm_output_of(program) or _cold_output(program))
        except ValueError:
            return json.loads(_cold_output(program))


def _cold_output(program: str) -> bytes:
    done = PythonChild(module=program).run(capture_output=True, timeout=DESCRIBE_TIMEOUT_S)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise CatalogueUnavailable(f"the worker could not describe itself: {said[-1] if said else done.returncode}")
    return done.stdout
