"""What two forms do alike: a real worker tries what they say, then it is started; all without waiting."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from mosaic.config import JsonObject
from mosaic.errors import MosaicError, Problem
from mosaic.gui.models.form.config_problems import problems_in
from mosaic.gui.models.form.dry_run_progress import DryRun
from mosaic.gui.models.form.notes import Note
from mosaic.gui.models.studio import Studio
from mosaic.rpc.client import SubmitUnknown
from mosaic.rpc.dry_run import Validation
from mosaic.rpc.locate import DaemonUnavailable


class SubmitActions(QObject):
    """What is under way because of a form."""

    busy_changed = Signal()
    said = Signal(str, str)
    """A sentence about what was just done, and its level: `ok`, `warn` or `bad`."""
    submitted = Signal(object)
    """Ids of new runs, which are selected already."""

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self.is_trying = False
        """A dry run is under way."""
        self.is_starting = False
        """A submit is under way."""
        self._studio = studio
        self._trial = DryRun(studio.link)

    def cancel_dry_run(self) -> None:
        """End the one that is under way."""
        if self.is_trying:
            self._trial.cancel()

    def _try(self, title: str, document: JsonObject, *, noted: JsonObject) -> None:
        """What the worker prints becomes a note."""
        note = self._studio.notes.begin(title, noted)
        self.is_trying = True
        self.busy_changed.emit()
        self._trial.start(document, partial(self._tried, note), partial(self._not_tried, note))

    def _tried(self, note: Note, found: Validation) -> None:
        self._studio.notes.end(note, "ok" if found.ok else "refused", found.output)
        if found.ok:
            self.said.emit(f"Dry run: ok after {note.took_s:.1f} s. Its output is under Dry runs.", "ok")
        else:
            self._show_refused(note, found.problems or problems_in(found.output))
        self._ended_trying()

    def _show_refused(self, note: Note, problems: Sequence[Problem]) -> None:  # noqa: ARG002 (for forms that keep it)
        self.said.emit("Dry run: refused. " + "; ".join(map(str, problems)), "bad")

    def _not_tried(self, note: Note, error: MosaicError) -> None:
        self._studio.notes.end(note, "failed", str(error))
        self._say_error(error)
        self._ended_trying()

    def _ended_trying(self) -> None:
        self.is_trying = False
        self.busy_changed.emit()

    def _set_starting(self, is_starting: bool) -> None:
        self.is_starting = is_starting
        self.busy_changed.emit()

    def _may_have_started(self, error: MosaicError) -> bool:
        """Whether the same submit is to be sent again, with the same key; then it is said."""
        if isinstance(error, SubmitUnknown):
            self.said.emit(f"Perhaps started: {error}. Start with these settings makes no second run either.", "bad")
        elif isinstance(error, DaemonUnavailable):
            self.said.emit(f"Not started: {error}. Starting it again makes no second run.", "bad")
        else:
            return False
        return True

    def _say_error(self, error: MosaicError) -> None:
        self.said.emit(str(error), "bad")
