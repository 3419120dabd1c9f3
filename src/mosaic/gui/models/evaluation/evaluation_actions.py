"""What the form of an evaluation does: list policies, describe a file, try, start; all without waiting."""

import uuid
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QTimer, Signal

from mosaic.config import JsonObject
from mosaic.errors import ConfigError, MosaicError
from mosaic.gui.models.evaluation.evaluation_form import EvaluationForm
from mosaic.gui.models.evaluation.policies_model import PoliciesModel, name_of_policy
from mosaic.gui.models.form.catalogue_model import CatalogueModel
from mosaic.gui.models.form.submit_actions import SubmitActions
from mosaic.gui.models.studio import Studio
from mosaic.rpc.client import Client
from mosaic.rpc.policy_info import PolicyInfo
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL

SETTLE_MS = 300


class EvaluationActions(SubmitActions):
    """The form, the list, and what is under way because of them."""

    described = Signal(object)
    """A PolicyInfo that was browsed for."""

    def __init__(self, studio: Studio, catalogue: CatalogueModel) -> None:
        super().__init__(studio)
        self.catalogue = catalogue
        self.form = EvaluationForm()
        self.policies = PoliciesModel()
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
        self._studio.link.call(
            lambda client: client.describe_policy(path), self._described, self._say_error, brings_back=True
        )

    def dry_run(self) -> None:
        """Let a real worker open the first chosen policy in its environment; nothing is played."""
        documents = self._checked()
        if documents and not self.is_trying:
            self._try(f"evaluate {name_of_policy(self.form.chosen[0])}", documents[0], noted=documents[0])

    def start(self) -> None:
        """A run for each chosen policy."""
        documents = self._checked()
        if not documents or self.is_starting:
            return
        # A submit without an answer may have arrived: the same one again has the same keys.
        if self._unanswered is None or self._unanswered[0] != documents:
            self._unanswered = documents, [uuid.uuid4().hex for _ in documents]
        keys = self._unanswered[1]
        self._set_starting(True)
        ask = partial(_submit, documents=documents, keys=keys)
        self._studio.link.call(ask, self._started, self._not_started, brings_back=True)

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

    def _started(self, records: Sequence[RunRecord]) -> None:
        self._unanswered = None
        self._set_starting(False)
        ids = [record.run_id for record in records]
        self._studio.select(ids)
        self.submitted.emit(ids)

    def _not_started(self, error: MosaicError) -> None:
        self._set_starting(False)
        if not self._may_have_started(error):
            self._unanswered = None
            self.said.emit(f"Not started: {error.sentence}", "bad")


def _submit(client: Client, *, documents: Sequence[JsonObject], keys: Sequence[str]) -> list[RunRecord]:
    return [
        record
        for document, key in zip(documents, keys, strict=True)
        for record in client.submit(document, client_key=key)
    ]
