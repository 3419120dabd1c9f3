"""A recorded episode, or two side by side, saved as a film: `mosaic replay --video` beside the window."""

from collections.abc import Sequence
from typing import Any, Literal

from PySide6.QtCore import QObject, Signal

from mosaic.gui.models.cli_process import CliProcess
from mosaic.gui.models.daemon.news import Notice
from mosaic.gui.models.studio import Studio

KINDS = (".mp4", ".gif")


class FilmExport(QObject):
    """One film at a time; what comes of it is said as a notice."""

    changed = Signal()

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self._studio = studio
        self.said = ""
        """What came of the last one."""
        self.progress = ""
        """How far the one that is being made is."""
        self._process = CliProcess(studio.link, self)
        self._process.changed.connect(self.changed)
        self._process.done.connect(self._take)
        self._process.failed.connect(self._warn)
        self._process.told.connect(self._show_progress)

    @property
    def runs(self) -> bool:
        return self._process.runs

    def save(self, names: Sequence[str], out: str, *, speed: float) -> None:
        """Episodes by RUN/EPISODE; a name without an ending is an mp4."""
        path = out if out.lower().endswith(KINDS) else f"{out}.mp4"
        first, *others = names
        beside = [word for name in others for word in ("--side-by-side", name)]
        self.said = self.progress = ""
        self._process.start("replay", first, *beside, "--video", path, "--speed", f"{speed or 1.0:g}", "--json")

    def close(self) -> None:
        self._process.stop()

    def _take(self, found: Sequence[Any]) -> None:
        [made] = found
        differs = " (not quite what was recorded)" if any(made["differences"]) else ""
        self._say(f"{made['out']}: {made['seconds']:g} s, {made['frames']} frames{differs}", kind="info")

    def _show_progress(self, line: str) -> None:
        self.progress = line
        self.changed.emit()

    def _warn(self, message: str) -> None:
        self._say(message, kind="warn")

    def _say(self, message: str, *, kind: Literal["warn", "info"]) -> None:
        self.said = message
        self._studio.noticed.emit(Notice(message, kind=kind))
        self.changed.emit()
