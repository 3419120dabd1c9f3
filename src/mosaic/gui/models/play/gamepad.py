"""The gamepads of this machine, read by a process of its own while a person plays."""

import json
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QObject, Signal

from mosaic.gui.models.child_program import ChildProgram
from mosaic.spec.processes.python_child import PythonChild

CHILD = "mosaic.gui.models.play.gamepad_child"


class Gamepad(QObject):
    """`start` and `stop` as often as one likes; nothing here waits for a device."""

    moved = Signal()
    """Something else is held down, or pushed further."""
    found_changed = Signal()
    """A gamepad came or went."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.names: Sequence[str] = ()
        self.problem = ""
        """Why none can be read, as text for the user; empty as far as is known."""
        self.down: Sequence[str] = ()
        self.axes: Mapping[str, float] = {}
        self._program: Sequence[str] = ()
        self._rest = b""
        self._process = ChildProgram(self)
        self._process.readyReadStandardOutput.connect(self._read)
        self._process.finished.connect(self._ended)
        self._process.not_started.connect(self._ended)

    @property
    def runs(self) -> bool:
        return self._process.runs

    def read_by(self, *program: str) -> None:
        """From the next start on, another program."""
        self._program = program

    def write(self, data: bytes) -> None:
        """To the program that reads them."""
        self._process.write(data)

    def start(self) -> None:
        if not self.runs:
            self._rest, self.problem = b"", ""
            if self._program:
                self._process.start(self._program[0], self._program[1:])
            else:
                self._process.start_python(PythonChild(module=CHILD))

    def stop(self) -> None:
        self._process.end()
        self._forget()

    def _read(self) -> None:
        *lines, self._rest = (self._rest + bytes(self._process.readAllStandardOutput().data())).split(b"\n")
        for line in lines:
            said = json.loads(line)
            before = self.names, self.problem
            self.names, self.problem = tuple(said["pads"]), str(said.get("problem", ""))
            if (self.names, self.problem) != before:
                self.found_changed.emit()
            if (said["down"], said["axes"]) != (self.down, self.axes):
                self.down, self.axes = said["down"], said["axes"]
                self.moved.emit()

    def _ended(self) -> None:
        """A reader that dies takes its gamepads with it; nothing stays held down."""
        self._forget()

    def _forget(self) -> None:
        held = bool(self.down or self.axes)
        self.down, self.axes = (), {}
        if held:
            self.moved.emit()
        if self.names:
            self.names = ()
            self.found_changed.emit()
