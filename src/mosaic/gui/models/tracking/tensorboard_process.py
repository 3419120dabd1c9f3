"""A TensorBoard for the selected runs: started when its tab is shown, on a free port of this machine, ended with us."""

import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from PySide6.QtCore import QProcess, QTimer, Signal

from mosaic.errors import MosaicError
from mosaic.gui.models.background_work import BackgroundWork
from mosaic.gui.models.child_program import ChildProgram
from mosaic.installation import package_line
from mosaic.track import tensorboard_child
from mosaic.track.tensorboard_links import BoardRun, count_written, lay, links_of, make_folder

BoardState: TypeAlias = Literal["idle", "starting", "ready", "failed"]

SETTLE_MS = 300
"""A selection is waited for this long to come to rest."""
KEPT_OUTPUT = 6000
LAID_S = 2.0
"""How long the end waits for links that are being made."""


class TensorBoardProcess(BackgroundWork):
    """One process for the life of the window; another selection changes its folder of links."""

    changed = Signal()
    relinked = Signal()
    """It shows other runs, as soon as it has looked at its folder again."""
    _laid = Signal(object)

    def __init__(self, program: Sequence[str] = ()) -> None:
        """`program` takes the place of the interpreter with TensorBoard."""
        super().__init__()
        self.state: BoardState = "idle"
        self.url = ""
        self.problem = ""
        self.output: str = ""
        """The end of what it has printed."""
        self.with_events = 0
        """Runs of the selection that have written event files."""
        self.runs: Sequence[BoardRun] = ()
        self._program = program
        self._folder: Path | None = None
        self._laying: threading.Thread | None = None
        self._process = ChildProgram(self, merged=True)
        self._process.readyRead.connect(self._read)
        self._process.finished.connect(self._finished)
        self._process.not_started.connect(self._not_started)
        self._settle = QTimer(self, singleShot=True, interval=SETTLE_MS)
        self._settle.timeout.connect(self._lay)
        self._laid.connect(self._take_laid)

    @property
    def pid(self) -> int:
        return self._process.processId()

    def show_runs(self, runs: Sequence[BoardRun]) -> None:
        """Show these; starts it if need be."""
        if list(runs) != list(self.runs):
            self.runs = runs
            self._settle.start()
        elif runs and (self.state == "idle" or self.with_events < len(runs)) and not self._settle.isActive():
            # Event files may have appeared since.
            self._settle.start()

    def retry(self) -> None:
        self._become("idle")
        self._settle.start()

    def stop(self) -> None:
        self._settle.stop()
        self._process.end()
        if self._laying is not None:
            self._laying.join(LAID_S)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        self._become("idle")

    def _lay(self) -> None:
        """In a thread: the runs may be on a slow disk."""
        if self._laying is not None and self._laying.is_alive():
            self._settle.start()
            return
        runs, folder = self.runs, self._folder

        def run() -> None:
            try:
                place, links = folder or make_folder(), links_of(runs)
                self.tell(self._laid, (place, lay(place, links), count_written(links)))
            except (OSError, MosaicError) as error:
                self.tell(self._laid, error)

        self._laying = self.run_beside(run, "board")

    def _take_laid(self, laid: tuple[Path, bool, int] | Exception) -> None:
        if isinstance(laid, Exception):
            self._become("failed", f"The folder of links could not be made: {laid}")
            return
        self._folder, has_changed, self.with_events = laid
        if not self._process.runs:
            if self.runs and self.state == "idle":
                self._start(self._folder)
        elif has_changed:
            self.relinked.emit()
        self.changed.emit()

    def _start(self, folder: Path) -> None:
        self.output = self.url = ""
        options = tensorboard_child.options(folder)
        if self._program:
            self._process.start(self._program[0], [*self._program[1:], *options])
        else:
            self._process.start_python(tensorboard_child.child(*options))
        self._become("starting")

    def _read(self) -> None:
        self.output = (self.output + bytes(self._process.readAll().data()).decode(errors="replace"))[-KEPT_OUTPUT:]
        if self.state == "starting" and (found := tensorboard_child.ADDRESS.search(self.output)):
            self.url = found[1]
            self._become("ready")

    def _finished(self, code: int, how: QProcess.ExitStatus) -> None:
        self._read()
        ended = (
            f"was killed by signal {code}" if how == QProcess.ExitStatus.CrashExit else f"ended with exit code {code}"
        )
        if tensorboard_child.MISSING in self.output:
            self._become(
                "failed", f"The tensorboard package is not installed: {package_line(tensorboard_child.PACKAGE)}"
            )
        else:
            self._become("failed", f"TensorBoard {ended}. What it printed:")

    def _not_started(self, problem: str) -> None:
        self._become("failed", problem)

    def _become(self, state: BoardState, problem: str = "") -> None:
        self.state, self.problem = state, problem
        if state != "ready":
            self.url = ""
        self.changed.emit()
