"""The sweeps of the daemon, and all about the one that is shown; fetched beside the window while it is looked at."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from mosaic.config import JsonObject
from mosaic.errors import MosaicError
from mosaic.gui.models.cli_process import CliProcess
from mosaic.gui.models.studio import Studio
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.client import Client
from mosaic.rpc.locate import DaemonUnavailable
from mosaic.sweep import confirmation, importance
from mosaic.sweep.space import applied
from mosaic.sweep.sweep_reader import SweepReader
from mosaic.sweep.sweep_state import AT_WORK, SweepState, Trial

LOOK_MS = 1000
VERBS: Mapping[str, frozenset[str]] = {
    "pause": AT_WORK,
    "continue": frozenset({"paused"}),
    "cancel": AT_WORK | {"paused"},
    "resume": frozenset({"cancelled", "failed"}),
}
"""What can be asked of a sweep, by its phase."""


@dataclass(frozen=True)
class _Fetched:
    """What a look brought."""

    sweeps: Sequence[pb.Sweep]
    reader: SweepReader | None = None
    state: SweepState | None = None
    """A copy that no thread changes; None if it is as it was."""


class SweepsModel(QObject):
    """The views read it and listen to `changed`."""

    changed = Signal()
    said = Signal(str, str)
    """A sentence, and its level."""

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self._studio = studio
        self.sweeps: Sequence[pb.Sweep] = ()
        """Newest first."""
        self.current = ""
        """Id of the one that is shown."""
        self.state: SweepState | None = None
        self.importance: Mapping[str, float] = {}
        self.has_looked = False
        self._reader: SweepReader | None = None
        self._is_asking = False
        self._ended = -1
        """Trials that had ended when the importance was asked for."""
        self._cli = CliProcess(studio.link, self)
        self._cli.done.connect(self._take_importance)
        self._cli.failed.connect(self._no_importance)
        self._importance_problem = ""
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self.look)

    def watch(self, is_seen: bool) -> None:
        """Look now and every second, while the page is seen."""
        if is_seen:
            self.look()
            self._timer.start()
        else:
            self._timer.stop()

    def stop(self) -> None:
        self._timer.stop()
        self._cli.stop()

    @property
    def summary(self) -> pb.Sweep | None:
        return next((one for one in self.sweeps if one.sweep_id == self.current), None)

    @property
    def best(self) -> Trial | None:
        """What fresh seeds say is best, else what one seed says."""
        if self.state is None:
            return None
        confirmed = confirmation.results(self.state)
        return confirmed[0].trial if confirmed else self.state.best

    @property
    def pruned(self) -> list[int]:
        return [] if self.state is None else [one.number for one in self.state.trials if one.state == "pruned"]

    @property
    def can_resume_pruned(self) -> bool:
        """A paused sweep is continued first."""
        return bool(self.pruned) and self.summary is not None and self.summary.phase != "paused"

    @property
    def why_no_importance(self) -> str:
        if self.state is None:
            return ""
        waiting = self._importance_problem or "is being computed …"
        return importance.why_unknown(self.state) or ("" if self.importance else waiting)

    def allowed(self) -> set[str]:
        """Verbs that make sense now."""
        summary = self.summary
        if summary is None or summary.asked:
            return set()
        return {verb for verb, phases in VERBS.items() if summary.phase in phases}

    def choose(self, sweep_id: str) -> None:
        if sweep_id != self.current:
            self.current, self.state, self._reader = sweep_id, None, None
            self.importance, self._ended, self._importance_problem = {}, -1, ""
            self.changed.emit()
            self.look()

    def ask(self, verb: str, trials: Sequence[int] = ()) -> None:
        """Of the one that is shown."""
        sweep_id = self.current

        def done(_: pb.Sweep) -> None:
            self.said.emit("", "ok")
            self.look()

        self._studio.link.call(
            lambda client: client.control_sweep(sweep_id, verb, trials=trials), done, self._say, brings_back=True
        )

    def best_document(self) -> JsonObject | None:
        """The run config of the best settings."""
        if self.state is None or self.best is None:
            return None
        return applied(self.state.plan.document, self.best.params)

    def look(self) -> None:
        if not self._is_asking:
            self._is_asking = True
            wanted, reader = self.current, self._reader
            self._studio.link.call(lambda client: _fetch(client, wanted, reader), self._take, self._failed)

    def _take(self, found: _Fetched) -> None:
        self._is_asking = False
        self.has_looked = True
        before = [one.SerializeToString(deterministic=True) for one in self.sweeps]
        is_new = before != [one.SerializeToString(deterministic=True) for one in found.sweeps]
        self.sweeps = found.sweeps
        if found.reader is not None and found.reader.sweep_id == self.current:
            self._reader = found.reader
            if found.state is not None:
                self.state, is_new = found.state, True
        if self.summary is None and self.sweeps:
            self.choose(self.sweeps[0].sweep_id)
        elif is_new:
            self._ask_importance()
            self.changed.emit()

    def _ask_importance(self) -> None:
        """By the command line, in a process of its own: it loads Optuna."""
        if self.state is None or importance.why_unknown(self.state) or self._cli.runs:
            return
        ended = sum(trial.value is not None for trial in self.state.trials)
        if ended != self._ended:
            self._ended, self._importance_problem = ended, ""
            self._cli.start("sweep", "show", self.current, "--json")

    def _take_importance(self, found: list[Any]) -> None:
        about: Any = found[0] if found else None
        if isinstance(about, dict) and about["sweep_id"] == self.current:
            self.importance = about["importance"]
            self.changed.emit()
        # Another sweep was chosen meanwhile, or further trials have ended.
        self._ask_importance()

    def _no_importance(self, why: str) -> None:
        self._importance_problem = why
        self.changed.emit()

    def _failed(self, error: MosaicError) -> None:
        self._is_asking = False
        # The window says itself that the daemon is gone.
        if not isinstance(error, DaemonUnavailable):
            self._say(error)

    def _say(self, error: MosaicError) -> None:
        self.said.emit(str(error), "bad")


def _fetch(client: Client, wanted: str, reader: SweepReader | None) -> _Fetched:
    """In another thread."""
    sweeps = client.sweeps()
    known = {one.sweep_id: one for one in sweeps}
    if wanted not in known or known[wanted].damage:
        return _Fetched(sweeps)
    before = reader.read_bytes if reader is not None else -1
    reader = reader or SweepReader(client, wanted)
    state = reader.refresh()
    return _Fetched(sweeps, reader, deepcopy(state) if reader.read_bytes != before else None)
