"""A verb of the command line, run beside the window on the same daemon; what it prints comes as JSON."""

import json
from typing import Any

from PySide6.QtCore import QObject, QProcess, Signal

from mosaic.gui.models.child_program import ChildProgram
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.spec.processes import secret_keys
from mosaic.spec.processes.python_child import PythonChild


class CliProcess(QObject):
    """One at a time. `done` has every object that was printed, also when the verb ended with a code of its own."""

    changed = Signal()
    """It was started, or it ended."""
    done = Signal(object)
    failed = Signal(str)
    """The reason, as text for the user."""
    told = Signal(str)
    """A line that it printed beside its results, while it works."""

    def __init__(self, link: DaemonLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._link = link
        self._process = ChildProgram(self)
        self._said = b""
        self._process.readyReadStandardError.connect(self._hear)
        self._process.finished.connect(self._finished)
        self._process.not_started.connect(self._failed_to_start)

    @property
    def runs(self) -> bool:
        return self._process.runs

    def start(self, *words: str) -> None:
        """`replay`, `@last`, …; one that runs already goes on."""
        if self.runs:
            return
        verb = PythonChild(
            module="mosaic.cli",
            words=(*self._link.reach, *words),
            # As in a terminal: it may send the key of a language model along, or start a daemon.
            keys=secret_keys.ALL,
            variables={"MOSAIC_HOME": str(self._link.home.root)},
            cwd=None,
        )
        self._said = b""
        self._process.start_python(verb)
        self.changed.emit()

    def stop(self) -> None:
        """End it; what it asked the daemon for goes on."""
        if self.runs:
            self._process.end()
            self.changed.emit()

    def _finished(self, code: int, how: QProcess.ExitStatus) -> None:
        self._hear()
        said = self._said.decode(errors="replace").strip()
        found = list(_objects(bytes(self._process.readAllStandardOutput().data())))
        self.changed.emit()
        if found:
            self.done.emit(found)
        elif code or how == QProcess.ExitStatus.CrashExit:
            # An error may have several lines, one for each thing that is wrong.
            reason = said.rpartition("error: ")[2]
            self.failed.emit(reason or f"it ended with code {code}")
        else:
            self.done.emit([])

    def _hear(self) -> None:
        new = bytes(self._process.readAllStandardError().data())
        self._said += new
        if new.endswith(b"\n") and self.runs:
            self.told.emit(new.decode(errors="replace").splitlines()[-1])

    def _failed_to_start(self, problem: str) -> None:
        self.changed.emit()
        self.failed.emit(problem)


def _objects(output: bytes) -> list[Any]:
    """Lines that are JSON, and words such as ids of runs as they are."""
    found: list[Any] = []
    for line in output.decode(errors="replace").splitlines():
        if line.strip():
            try:
                found.append(json.loads(line))
            except ValueError:
                found.append(line.strip())
    return found
