"""Documents in and out of the form: presets, JSON files, the command line."""

from collections.abc import Callable
from pathlib import Path

from mosaic.config import JsonObject
from mosaic.errors import ConfigError, MosaicError
from mosaic.gui.models.command_line import command_line
from mosaic.gui.models.desk import Desk
from mosaic.gui.models.presets import read_document, write_document


class Shelf:
    """What goes wrong is said by the desk; nothing is raised."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._presets = desk.presets

    def names(self) -> list[str]:
        try:
            return self._presets.names()
        except MosaicError as error:
            self._desk.said.emit(str(error), "bad")
            return []

    def save(self, name: str) -> None:
        self._store(lambda document: self._presets.save(name, document), f"Saved as preset “{name.strip()}”.")

    def load(self, name: str) -> None:
        self._fill(lambda: self._presets.load(name), f"Preset “{name}”")

    def delete(self, name: str) -> None:
        try:
            self._presets.delete(name)
        except MosaicError as error:
            self._desk.said.emit(str(error), "bad")
        else:
            self._desk.said.emit(f"Preset “{name}” is gone.", "ok")

    def import_file(self, path: str) -> None:
        self._fill(lambda: read_document(Path(path)), Path(path).name)

    def export_file(self, path: str) -> None:
        self._store(lambda document: write_document(Path(path), document), f"Saved as {path}.")

    def allow_scripts(self, folder: str) -> None:
        self._desk.allow_scripts(folder)

    def reset(self) -> None:
        """Every field as the algorithm has it."""
        self._desk.form.reset_all()

    def command_line(self) -> str:
        """Empty if something in the form is wrong."""
        try:
            return command_line(self._desk.form)
        except ConfigError as error:
            self._complain(error)
            return ""

    def _fill(self, read: Callable[[], JsonObject], origin: str) -> None:
        try:
            document = read()
        except MosaicError as error:
            self._desk.said.emit(str(error), "bad")
        else:
            self._desk.fill(document, origin)

    def _store(self, write: Callable[[JsonObject], None], said: str) -> None:
        try:
            write(self._desk.form.stored())
        except ConfigError as error:
            self._complain(error)
        except MosaicError as error:
            self._desk.said.emit(str(error), "bad")
        else:
            self._desk.said.emit(said, "ok")

    def _complain(self, error: ConfigError) -> None:
        settings = ", ".join(problem.path.rpartition(".")[2] for problem in error.problems)
        self._desk.said.emit(f"First mend what is wrong in the form: {settings}.", "bad")
