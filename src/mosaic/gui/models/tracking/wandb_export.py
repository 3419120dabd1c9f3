"""The export of one run to Weights & Biases, as the window knows it: looked at, uploaded, its server probed."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QProcess, QTimer, Signal

from mosaic.errors import MosaicError
from mosaic.gui.models.child_program import ChildProgram
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.rpc.client import Client
from mosaic.spec.run_config import TrainOptions
from mosaic.spec.run_dir import RunDir
from mosaic.spec.run_record import RunRecord
from mosaic.track import export_state, wandb_network
from mosaic.track.export_state import Export
from mosaic.track.run_description import about
from mosaic.track.start_exporter import exporter
from mosaic.track.wandb_network import Answer

LOOK_MS = 2000
SETTLE_MS = 200
FILE = "wandb/export.json"


@dataclass(frozen=True)
class Seen:
    """What a look found."""

    run_id: str
    export: Export | None = None
    folders: Sequence[str] = ()
    """W&B's own folders of the run, by their names."""
    cut_off: bool = False
    """It says that it is under way, but no process works on it."""
    proxy: str = field(default="", repr=False)
    """On the way to the run's page, with its password; empty where the environment is left as it is."""


class WandbExport(QObject):
    """Looks at one run while its tab is shown; nothing here waits for a disk, a process or a network."""

    changed = Signal()

    def __init__(self, link: DaemonLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._link = link
        self._record: RunRecord | None = None
        self.seen: Seen | None = None
        """None until the first look at this run."""
        self.problem = ""
        """Why the last upload failed, or why nothing is known."""
        self.answer: Answer | None = None
        """Of the last probe."""
        self.has_key = False
        self.probing = False
        self._looking = False
        self._is_lost = False
        """The problem is that the last look failed: it is over with the next one that does not."""
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look)
        self._soon = QTimer(self, singleShot=True, interval=SETTLE_MS)
        self._soon.timeout.connect(self._look)
        self._watcher = QFileSystemWatcher(self)
        self._watcher.directoryChanged.connect(self._soon.start)
        self._process = ChildProgram(self, merged=True)
        self._process.finished.connect(self._uploaded)
        self._process.not_started.connect(self._not_started)
        self._uploading = ""

    @property
    def syncing(self) -> bool:
        """Whether this window uploads the run now."""
        return bool(self._record) and self._uploading == (self._record.run_id if self._record else "")

    @property
    def idle(self) -> bool:
        return not self._uploading

    def watch(self, record: RunRecord | None) -> None:
        """Look at this run from now on; None stops looking."""
        before = self._record.run_id if self._record else ""
        self._record = record
        if record is None:
            self._timer.stop()
            return
        if record.run_id != before:
            self.seen, self.problem, self.answer = None, "", None
            self._is_lost = False
            self._follow_folders()
            self.changed.emit()
        if not self._timer.isActive():
            self._timer.start()
            self._look()

    def sync(self, key: str = "") -> None:
        """Upload it, in a process of its own; a key goes into the environment of that process and nowhere else."""
        if self._record is None or self._uploading:
            return
        base = {**os.environ, "WANDB_API_KEY": key} if key else None
        self._uploading, self.problem, self._is_lost = self._record.run_id, "", False
        self._process.start_python(exporter("--sync", self._record.run_dir, base=base))
        self.changed.emit()

    def probe(self) -> None:
        """Ask the server that this run would go to, by the way it would go."""
        if self.probing:
            return
        self.probing, self.answer = True, None
        folder = None if self._record is None else Path(self._record.run_dir)
        self._link.call(lambda _: _probed(folder), self._probed, self._not_probed)
        self.changed.emit()

    def stop(self) -> None:
        """The window closes; an upload under way is ended, and can be begun anew."""
        self._timer.stop()
        self._soon.stop()
        self._process.blockSignals(True)
        if self._process.runs:
            self._process.terminate()
            if not self._process.waitForFinished(1000):
                self._process.kill()
                self._process.waitForFinished(1000)

    def _look(self) -> None:
        if self._record is None or self._looking:
            return
        self._looking = True
        folder = None if self._link.is_remote else Path(self._record.run_dir)
        ask = partial(_looked_at, run_id=self._record.run_id, folder=folder)
        self._link.call(ask, self._take, self._lost)

    def _take(self, seen: Seen) -> None:
        self._looking = False
        if self._record is None or seen.run_id != self._record.run_id:
            self._soon.start()
            return
        self._follow_folders()
        if self._is_lost:
            self._is_lost, self.problem = False, ""
        elif seen == self.seen:
            return
        self.seen = seen
        self.changed.emit()

    def _lost(self, error: MosaicError) -> None:
        self._looking = False
        self._is_lost, self.problem = True, str(error)
        self.changed.emit()

    def _follow_folders(self) -> None:
        """Be told of new folders at once; those of another run no more."""
        wanted: list[str] = []
        if self._record is not None and not self._link.is_remote:
            root = Path(self._record.run_dir)
            wanted = [str(path) for path in (root, root / "wandb", root / "wandb" / "wandb") if path.is_dir()]
        watched = self._watcher.directories()
        if gone := [path for path in watched if path not in wanted]:
            self._watcher.removePaths(gone)
        if new := [path for path in wanted if path not in watched]:
            self._watcher.addPaths(new)

    def _uploaded(self, code: int, _how: QProcess.ExitStatus) -> None:
        said = bytes(self._process.readAll().data()).decode(errors="replace").strip()
        uploaded, self._uploading = self._uploading, ""
        if self._record is not None and uploaded == self._record.run_id:
            last = said.splitlines()[-1].removeprefix("error: ") if said else f"it ended with exit code {code}"
            self.problem, self._is_lost = last if code else "", False
        self._soon.start()
        self.changed.emit()

    def _not_started(self, problem: str) -> None:
        self._uploading, self.problem = "", problem
        self.changed.emit()

    def _probed(self, found: tuple[Answer, bool]) -> None:
        self.probing = False
        self.answer, self.has_key = found
        self.changed.emit()

    def _not_probed(self, error: MosaicError) -> None:
        self._probed((Answer(False, str(error), 0.0), False))


def _looked_at(client: Client, *, run_id: str, folder: Path | None) -> Seen:
    if folder is None:
        names = client.files(run_id)
        inside = {name.split("/")[2] for name in names if name.startswith("wandb/wandb/") and name.count("/") > 2}
        content = b"".join(client.read_artifact(run_id, FILE)) if FILE in names else b""
        return Seen(run_id, export_state.parse(content) if content else None, _run_folders(inside))
    run_dir = RunDir(folder)
    export = export_state.read(run_dir)
    parent = run_dir.wandb / "wandb"
    inside = {path.name for path in parent.iterdir() if not path.is_symlink()} if parent.is_dir() else set[str]()
    cut_off = export is not None and export.state in export_state.UNDER_WAY and not export_state.is_busy(run_dir)
    return Seen(run_id, export, _run_folders(inside), cut_off, _proxy(run_dir) if export is not None else "")


def _proxy(run_dir: RunDir) -> str:
    """Of the run's own settings; what the environment says anyhow is found by WebEngine itself."""
    options = about(run_dir).options
    way = wandb_network.network_of(options)
    is_chosen = options.wandb_use_vpn_proxy or way.proxy == wandb_network.own_proxy(way.server, os.environ)
    return way.proxy if is_chosen else ""


def _run_folders(names: set[str]) -> Sequence[str]:
    return tuple(sorted(name for name in names if "run-" in name and "latest" not in name))


def _probed(folder: Path | None) -> tuple[Answer, bool]:
    options = TrainOptions() if folder is None else about(RunDir(folder)).options
    way = wandb_network.network_of(options)
    return wandb_network.probe(way), wandb_network.has_key(way.server)
