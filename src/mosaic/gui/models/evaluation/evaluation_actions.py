"""What the form of an evaluation does: list policies, describe a file, try, start; all without waiting."""

import uuid
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from mosaic.config import JsonObject
from mosaic.errors import ConfigError, MosaicError
from mosaic.gui.models.evaluation.evaluation_form import EvaluationForm
from mosaic.gui.models.evaluation.policies_model import PoliciesModel, name_of_policy
from mosaic.gui.models.form.catalogue_model import CatalogueModel
from mosaic.gui.models.form.config_problems import problems_in
from mosaic.gui.models.form.dry_run_progress import DryRun
from mosaic.gui.models.form.notes import Note
from mosaic.gui.models.studio import Studio
from mosaic.rpc.client import Client, SubmitUnknown
from mosaic.rpc.dry_run import Validation
from mosaic.rpc.locate import DaemonUnavailable
from mosaic.rpc.policy_info import PolicyInfo
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL

SETTLE_MS = 300


class EvaluationActions(QObject):
    """The form, the list, and what is under way because of them."""

    busy_changed = Signal()
    said = Signal(str, str)
    """A sentence about what was just done, and its level."""
    described = Signal(object)
    """A PolicyInfo that was browsed for."""
    submitted = Signal(object)
    """Ids of new runs, which are selected already."""

    def __init__(self, studio: Studio, catalogue: CatalogueModel) -> None:
        super().__init__()
        self.catalogue = catalogue
        self.form = EvaluationForm()
        self.policies = PoliciesModel()
        self.is_trying = False
        self.is_starting = False
        self._studio = studio
        self._trial = DryRun(studio.link)
        self._ended = 0
        self._unanswered: tuple[list[JsonObject], list[str]] | None = None
        self._settle = QTimer(self, singleShot=True, interval=SETTLE_MS)
        self._settle.timeout.connect(self.refresh)
        studio.runs_changed.connect(self._look)
        catalogue.changed.connect(self._begin)
        self._begin()

    def refresh(self) -> None:
        """Ask what there is."""
        self._studio.link.call(lambda client: client.policies(), self.policies.take, self._say_error)

    def browse(self, path: str) -> None:
        """Ask what a file on the daemon's machine is, and put it on the list."""
        self._studio.link.call(lambda client: client.describe_policy(path), self._described, self._say_error)

    def dry_run(self) -> None:
        """Let a real worker open the first chosen policy in its environment; nothing is played."""
        documents = self._checked()
        if documents and not self.is_trying:
            name = name_of_policy(self.form.chosen[0])
            note = self._studio.notes.begin(f"evaluate {name}", documents[0])
            self.is_trying = True
            self.busy_changed.emit()
            self._trial.start(documents[0], partial(self._tried, note), partial(self._not_tried, note))

    def cancel_dry_run(self) -> None:
        """End the one that is under way."""
        if self.is_trying:
            self._trial.cancel()

    def start(self) -> None:
        """A run for each chosen policy."""
        documents = self._checked()
        if not documents or self.is_starting:
            return
        # A submit without an answer may have arrived: the same one again has the same keys.
        if self._unanswered is None or self._unanswered[0] != documents:
            self._unanswered = documents, [uuid.uuid4().hex for _ in documents]
        keys = self._unanswered[1]
        self.is_starting = True
        self.busy_changed.emit()
        self._studio.link.call(partial(_submit, documents=documents, keys=keys), self._started, self._not_started)

    def _checked(self) -> list[JsonObject]:
        try:
            return self.form.documents()
        except ConfigError as error:
            self.said.emit("; ".join(str(problem) for problem in error.problems), "bad")
            return []

    def _begin(self) -> None:
        if self.catalogue.run_schema:
            self.form.use(self.catalogue.run_schema, self.catalogue.settings_of)

    def _look(self) -> None:
        """A run that has ended may have saved a policy."""
        ended = sum(record.state in TERMINAL for record in self._studio.runs.records())
        if ended != self._ended:
            self._ended = ended
            self._settle.start()

    def _described(self, policy: PolicyInfo) -> None:
        self.policies.add(policy)
        self.described.emit(policy)
        self.said.emit("", "ok")

    def _tried(self, note: Note, found: Validation) -> None:
        self._studio.notes.end(note, "ok" if found.ok else "refused", found.output)
        if found.ok:
            self.said.emit(f"Dry run: ok after {note.took_s:.1f} s. Its output is under Dry runs.", "ok")
        else:
            problems = found.problems or problems_in(found.output)
            self.said.emit("Dry run: refused. " + "; ".join(map(str, problems)), "bad")
        self._ended_trying()

    def _not_tried(self, note: Note, error: MosaicError) -> None:
        self._studio.notes.end(note, "failed", str(error))
        self._say_error(error)
        self._ended_trying()

    def _ended_trying(self) -> None:
        self.is_trying = False
        self.busy_changed.emit()

    def _started(self, records: Sequence[RunRecord]) -> None:
        self._unanswered = None
        self.is_starting = False
        self.busy_changed.emit()
        ids = [record.run_id for record in records]
        self._studio.select(ids)
        self.submitted.emit(ids)

    def _not_started(self, error: MosaicError) -> None:
        self.is_starting = False
        self.busy_changed.emit()
        if isinstance(error, SubmitUnknown):
            self.said.emit(f"Perhaps started: {error}, and so does Start with the same settings.", "bad")
        elif isinstance(error, DaemonUnavailable):
            self.said.emit(f"Not started: {error}. Starting it again makes no second run.", "bad")
        else:
            self._unanswered = None
            self.said.emit(f"Not started: {error}", "bad")

    def _say_error(self, error: MosaicError) -> None:
        self.said.emit(str(error), "bad")


def _submit(client: Client, *, documents: Sequence[JsonObject], keys: Sequence[str]) -> list[RunRecord]:
    return [
        record
        for document, key in zip(documents, keys, strict=True)
        for record in client.submit(document, client_key=key)
    ]
