"""Where runs of a daemon on another machine have their event files: as their manifests say, which that daemon reads."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.spec.run_dir import RunDir
from mosaic.spec.run_record import RunRecord


class TensorBoardFolders(QObject):
    changed = Signal()

    def __init__(self, link: DaemonLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._link = link
        self._asked: dict[str, str] = {}
        """State of the run when it was asked for: a manifest that has nothing yet may have it later."""
        self._found: dict[str, Sequence[str]] = {}

    def of(self, record: RunRecord) -> Sequence[str]:
        """What is known by now; before there is a manifest, where they usually are."""
        run_dir = RunDir(Path(record.run_dir))
        usual = run_dir.tensorboard_eval if record.kind == "policy_eval" else run_dir.tensorboard
        return [str(run_dir.root / path) for path in self._found.get(record.run_id) or (usual.name,)]

    def look(self, records: Sequence[RunRecord]) -> None:
        for record in records:
            if not self._found.get(record.run_id) and self._asked.get(record.run_id) != record.state:
                self._asked[record.run_id] = record.state
                self._ask(record.run_id)

    def _ask(self, run_id: str) -> None:
        def take(paths: Sequence[str]) -> None:
            if paths:
                self._found[run_id] = paths
                self.changed.emit()

        self._link.call(
            lambda client: [each.path for each in client.artifacts(run_id) if each.kind == "tensorboard"], take
        )
