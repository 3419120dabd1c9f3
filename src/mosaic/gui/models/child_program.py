"""A program that the window runs beside itself: whether it runs, why it could not, and its end."""

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Signal

from mosaic.spec.processes.python_child import PythonChild

END_MS = 1000


class ChildProgram(QProcess):
    not_started = Signal(str)
    """The reason, as text for the user; it will never have finished."""

    def __init__(self, parent: QObject | None = None, *, merged: bool = False) -> None:
        """`merged` reads what it says as errors together with what it says."""
        super().__init__(parent)
        if merged:
            self.setProcessChannelMode(QProcess.ProcessChannelMode.MergedChannels)
        self.errorOccurred.connect(self._failed)

    @property
    def runs(self) -> bool:
        return self.state() != QProcess.ProcessState.NotRunning

    def start_python(self, child: PythonChild) -> None:
        """A module of ours."""
        variables = QProcessEnvironment()
        for name, value in child.environment.items():
            variables.insert(name, value)
        self.setProcessEnvironment(variables)
        if child.cwd is not None:
            self.setWorkingDirectory(str(child.cwd))
        program, *words = child.command
        self.start(program, words)

    def end(self) -> None:
        """Kill it at once and emit nothing: for a program that has nothing to lose."""
        if self.runs:
            self.blockSignals(True)
            self.kill()
            self.waitForFinished(END_MS)
            self.blockSignals(False)

    def _failed(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self.not_started.emit(f"{self.program()} could not be started: {self.errorString()}")
