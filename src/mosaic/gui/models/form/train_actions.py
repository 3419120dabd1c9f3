"""What the train panel does: try a config, start runs, start the last one again, clone one; all without waiting."""

import uuid
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from PySide6.QtCore import QTimer

from mosaic import config
from mosaic.config import JsonObject
from mosaic.errors import ConfigError, MosaicError, Problem
from mosaic.gui.models.form import wrapper_setting
from mosaic.gui.models.form.catalogue_model import CatalogueModel
from mosaic.gui.models.form.config_problems import problems_in
from mosaic.gui.models.form.form_presets import FormPresets
from mosaic.gui.models.form.json_paths import look_up, put
from mosaic.gui.models.form.last_run import LastRun, StoreFailed
from mosaic.gui.models.form.notes import Note
from mosaic.gui.models.form.run_settings import ALGO, ENV_ID, PRIORITY, SEEDS, UI
from mosaic.gui.models.form.submit_actions import SubmitActions
from mosaic.gui.models.form.train_form import TrainForm
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of
from mosaic.rpc.client import Client, Refused
from mosaic.rpc.dry_run import Validation
from mosaic.scripts import own_algorithms
from mosaic.scripts.allowed_folders import Allowed
from mosaic.spec.run_record import RunRecord
from mosaic.spec.seed_list import parse_seeds
from mosaic.spec.states import TERMINAL, RunState

Level: TypeAlias = Literal["ok", "warn", "bad"]
SETTLE_MS = 250
KINDS = ("script", "algorithm")
"""What a folder that is allowed may hold."""


@dataclass(frozen=True)
class Order:
    """All that a submit needs; sent again with the same key it makes no second run."""

    document: JsonObject
    seeds: Sequence[int]
    priority: int
    stored: JsonObject
    """What is remembered as the last run: without secrets."""
    is_known: bool
    """The environment is in the catalogue and has no wrappers; any other is tried by a worker before it is queued."""
    key: str = ""


@dataclass(frozen=True)
class Started:
    """Runs that the daemon has taken."""

    records: Sequence[RunRecord]
    warning: str


class TrainActions(SubmitActions):
    """The form, and what is under way because of it."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(studio)
        self.catalogue = CatalogueModel(studio.link)
        self.form = TrainForm(self.catalogue)
        self.presets = FormPresets(studio.home, self.form)
        self._last_run = LastRun(studio.home)
        self._trial.told.connect(self._show_progress)
        self._unanswered: Order | None = None
        self._announced: tuple[str, Sequence[str]] = "", ()
        self._is_said_to_run = False
        """What was said last of runs that were started, as long as it is the last that was said."""
        self._waiting: tuple[JsonObject, str] | None = None
        """A document that came before the catalogue."""
        self._has_begun = False
        self._settle = QTimer(self, singleShot=True, interval=SETTLE_MS)
        self._settle.timeout.connect(self._compare_notes)
        self.form.edited.connect(self._settle.start)
        self.said.connect(self._forget_announced)
        studio.runs_changed.connect(self._follow_announced)
        self.catalogue.changed.connect(self._begin)
        self.catalogue.answered.connect(self._begin)

    def dry_run(self) -> None:
        """Let a real worker try what the form says; what it prints becomes a note, its problems land on the fields."""
        document = self._checked_document()
        if document is not None and not self.is_trying:
            self._try(f"{self.form.algo} · {self.form.env_id}", document, noted=self.form.document())

    def start(self) -> None:
        """Train what the form says."""
        document = self._checked_document()
        if document is not None:
            form = self.form
            stored = form.stored()
            self._submit(Order(document, form.seeds, form.priority, stored, self._is_known(stored)))

    def train_last(self) -> None:
        """Train once more what was started last, whatever the form says now."""
        try:
            stored = self._last_run.load()
            if stored is None:
                raise StoreFailed("Nothing was started from this window yet: fill in the form and start it here.")
            seeds = parse_seeds(str(look_up(stored, SEEDS, "")))
        except (MosaicError, ValueError) as error:
            self.said.emit(str(error), "bad")
            return
        priority = look_up(stored, PRIORITY, 0)
        document = deepcopy(stored)
        put(document, UI, {})
        known = self._is_known(stored)
        self._submit(Order(document, seeds, priority if isinstance(priority, int) else 0, stored, known))

    def _is_known(self, stored: JsonObject) -> bool:
        is_listed = self.catalogue.actions_of(str(look_up(stored, ENV_ID, ""))) is not None
        return is_listed and not look_up(stored, wrapper_setting.PATH, [])

    def allow_scripts(self, folder: str) -> None:
        """Let the scripts of a folder be trained; only beside the daemon, which is where they would run."""
        if self._studio.link.is_remote:
            self.said.emit(f"Allow it on the daemon's machine: mosaic scripts add {folder}", "warn")
            return
        allowed = Allowed(self._studio.home)

        def add(_: Client) -> tuple[int, int]:
            real = allowed.add(Path(folder))
            own = [one.file for one in own_algorithms.known(allowed) if one.file is not None and not one.problem]
            scripts = sum(one.path.is_relative_to(real) for one in allowed.scripts())
            return scripts, sum(file.is_relative_to(real) for file in own)

        def added(counts: tuple[int, int]) -> None:
            kinds = [f"{count} {kind}{'' if count == 1 else 's'}" for count, kind in zip(counts, KINDS, strict=True)]
            found = " and ".join(text for text, count in zip(kinds, counts, strict=True) if count)
            said = f"{found or 'No training scripts'} found in {folder}; the list of algorithms has them."
            self.said.emit(said, "ok" if found else "warn")
            self.catalogue.load()

        self._studio.link.call(add, added, self._say_error, brings_back=True)

    def clone(self, run_id: str) -> None:
        """Fill the form with the stored config of a run."""

        def ask(client: Client) -> tuple[JsonObject, str]:
            record = client.get(run_id)
            document = config.loads(b"".join(client.read_artifact(run_id, "config.json")), what=f"config of {run_id}")
            if record.priority:
                put(document, PRIORITY, record.priority)
            return document, name_of(record)

        self._studio.link.call(ask, lambda answer: self.fill(*answer), self._say_error, brings_back=True)

    def fill(self, document: JsonObject, origin: str) -> None:
        """Take a document into the form; says what of it there is no field for."""
        if not self.catalogue.algorithms:
            self._waiting = document, origin
            return
        try:
            left_out = self.form.fill(document)
        except ConfigError as error:
            self.said.emit(f"{origin}: {'; '.join(map(str, error.problems))}", "bad")
        except MosaicError as error:
            self.said.emit(f"{origin}: {error}", "bad")
        else:
            text = f"{origin} is in the form"
            if left_out:
                self.said.emit(f"{text}, without {', '.join(left_out)}: there is no such setting (any more).", "warn")
            else:
                self.said.emit(f"{text}.", "ok")

    def _checked_document(self) -> JsonObject | None:
        """With secrets; None, and why at the fields, if there is something wrong with it."""
        if not self.form.fields:
            self.said.emit("The algorithms are not known yet: the daemon has not answered.", "warn")
            return None
        self.form.forget_refusals()
        try:
            return self.form.document(with_secrets=True)
        except ConfigError as error:
            # Those of the run config as a whole; a field says by itself what is wrong with it.
            self.form.refuse(one for one in error.problems if one.path not in self.form.fields)
            count = len(error.problems)
            self.said.emit(f"{count} setting{'s have errors' if count > 1 else ' has an error'}.", "bad")
            return None

    def _show_refused(self, note: Note, problems: Sequence[Problem]) -> None:
        if self._is_as_tried(note.document):
            self.form.refuse(problems)
            self.said.emit("Dry run: refused. Its output is under Dry runs.", "bad")
        else:
            # The fields show something else by now.
            self.said.emit(f"Dry run of the earlier form: refused: {problems[0]}", "bad")

    def _show_progress(self, line: str) -> None:
        # A line that was under way when it ended says nothing any more.
        if self.is_trying and not line.startswith("{"):
            self.said.emit(f"Dry run: {line}", "ok")

    def _ended_trying(self) -> None:
        self._compare_notes()
        super()._ended_trying()

    def _submit(self, order: Order) -> None:
        if self.is_starting:
            return
        before = self._unanswered
        # A submit without an answer may have arrived: the same one again has the same key.
        is_same = before is not None and replace(before, key="") == order
        self._unanswered = order = before if before and is_same else replace(order, key=uuid.uuid4().hex)
        self._set_starting(True)
        self._studio.link.call(
            lambda client: _place(client, order, self._last_run),
            self._answered,
            partial(self._not_started, order),
            brings_back=True,
        )

    def _answered(self, answer: Started | Validation) -> None:
        order, self._unanswered = self._unanswered, None
        if isinstance(answer, Validation):
            self._refused(order, answer.problems or problems_in(answer.output))
        else:
            self._announce(answer)
        self._set_starting(False)

    def _announce(self, answer: Started) -> None:
        names = [name_of(record) for record in answer.records]
        text = f"{names[0]} is queued." if len(names) == 1 else f"{len(names)} runs are queued: {names[0]} …"
        self.said.emit(f"{text} {answer.warning}".strip(), "warn" if answer.warning else "ok")
        ids = [record.run_id for record in answer.records]
        self._announced, self._is_said_to_run = ("" if answer.warning else names[0], ids), False
        self._studio.select(ids)
        self.submitted.emit(ids)

    def _forget_announced(self) -> None:
        self._announced = "", ()

    def _follow_announced(self) -> None:
        """“… is queued.” is true until it runs, and of no interest once it has ended."""
        name, ids = self._announced
        runs = self._studio.runs.of(ids)
        if not name or len(runs) < len(ids):
            return
        if all(run.state in TERMINAL for run in runs):
            self.said.emit("", "ok")
        elif all(run.state is not RunState.QUEUED for run in runs) and not self._is_said_to_run:
            self.said.emit(f"{name} has started." if len(runs) == 1 else f"{len(runs)} runs have started.", "ok")
            self._announced, self._is_said_to_run = (name, ids), True

    def _not_started(self, order: Order, error: MosaicError) -> None:
        if not self._may_have_started(error):
            self._unanswered = None
            problems = problems_in(str(error)) if isinstance(error, Refused) else [Problem("", str(error))]
            self._refused(order, problems)
        self._set_starting(False)

    def _refused(self, order: Order | None, problems: Sequence[Problem]) -> None:
        if order is not None and self._is_as_tried(order.stored):
            self.form.refuse(problems)
            self.said.emit("Not started: the daemon refused it.", "bad")
        else:
            self.said.emit(f"Not started: {'; '.join(map(str, problems))}", "bad")

    def _is_as_tried(self, document: JsonObject) -> bool:
        """Whether the form still says this: then the daemon's problems belong to its fields."""
        return document in (self._document_now(), self._document_now(stored=True))

    def _document_now(self, *, stored: bool = False) -> JsonObject | None:
        try:
            return self.form.stored() if stored else self.form.document()
        except ConfigError:
            return None

    def _compare_notes(self) -> None:
        self._studio.notes.compare(self._document_now() if self.form.fields else None)

    def _begin(self) -> None:
        """The catalogue is there: the form starts from what came before it, or from the last run."""
        if self._has_begun:
            return
        try:
            last = self._last_run.load()
        except MosaicError as error:
            self.said.emit(str(error), "warn")
            last = None
        document, origin = self._waiting or (last, "The last run")
        if document is None:
            self._has_begun = True
        elif self.catalogue.is_whole or look_up(document, ALGO, "") in self.catalogue.algorithms:
            # One that does not ship with the package, a script say, is known once the daemon has answered.
            self._has_begun = True
            self.fill(document, origin)


def _place(client: Client, order: Order, last_run: LastRun) -> Started | Validation:
    """In another thread: try what only a worker can tell, queue it, and remember it."""
    if not order.is_known and not (found := client.validate(order.document)).ok:
        return found
    records = client.submit(order.document, seeds=order.seeds, priority=order.priority, client_key=order.key)
    try:
        last_run.save(order.stored)
    except StoreFailed as error:
        return Started(records, f"“Train the last configuration” will not have it: {error}")
    return Started(records, "")
