"""A script of actors, environments and seeds, played unattended: `mosaic compare` beside the window, its table here.

The runs are submitted first and followed then: so they are known, can be stopped, and outlive the window.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from mosaic.gui.models.cli_process import CliProcess
from mosaic.gui.models.studio import Studio
from mosaic.spec.states import TERMINAL
from mosaic.statistics.intervals import Interval

LOOK_MS = 500


@dataclass(frozen=True)
class Line:
    """One actor in one environment."""

    env_id: str
    name: str
    texts: Sequence[str]
    """Episodes, mean, IQM, more than the first, better in."""


class CompareRun(QObject):
    """One script at a time."""

    changed = Signal()

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self._studio = studio
        self.path = ""
        self.problem = ""
        """Why it could not be played, as text for the user."""
        self.lines: Sequence[Line] = ()
        self.first = ""
        """The actor that the others are compared with."""
        self.run_ids: Sequence[str] = ()
        self._process = CliProcess(studio.link, self)
        self._process.changed.connect(self.changed)
        self._process.done.connect(self._take)
        self._process.failed.connect(self._fail)
        self._look = QTimer(self, interval=LOOK_MS)
        self._look.timeout.connect(self.changed)

    @property
    def runs(self) -> bool:
        return self._process.runs

    @property
    def ended(self) -> int:
        """Of its runs, how many have come to their end."""
        return sum(record.state in TERMINAL for record in self._studio.runs.of(self.run_ids))

    def start(self, path: str) -> None:
        if self.runs:
            return
        self.path, self.problem, self.lines, self.run_ids = path, "", (), ()
        if not Path(path).is_file():
            self._fail(f"there is no file {path}")
            return
        self._process.start("compare", path, "--detach")
        self._look.start()

    def stop(self) -> None:
        """End its runs; what was played until then is shown."""
        for run_id in self.run_ids:
            record = self._studio.runs.get(run_id)
            if record is None or record.state not in TERMINAL:
                self._studio.link.call(lambda client, run_id=run_id: client.cancel(run_id))

    def close(self) -> None:
        """The runs go on without the window; `mosaic compare --resume RUN` has the table."""
        self._look.stop()
        self._process.stop()

    def _take(self, found: Sequence[Any]) -> None:
        if not self.run_ids:
            self.run_ids = [str(run_id) for run_id in found]
            self._process.start("compare", "--resume", self.run_ids[0], "--json")
            return
        self._look.stop()
        self.first = str(found[0]["name"]) if found else ""
        self.lines = [_line(each) for each in found]
        self.changed.emit()

    def _fail(self, problem: str) -> None:
        self._look.stop()
        self.problem = problem
        self.changed.emit()


def _line(found: Mapping[str, Any]) -> Line:
    pair = found["paired"]
    texts = [
        str(found["episodes"]),
        f"{found['mean']['value']:.2f}" if found["mean"] else "–",
        _interval(found["iqm"], found["episodes"]) if found["iqm"] else "–",
        _interval(pair["difference"], pair["episodes"], "+.2f") if pair else "–",
        f"{pair['better']:.0%}" if pair else "–",
    ]
    return Line(str(found["env_id"]), str(found["name"]), texts)


def _interval(found: Mapping[str, float | None], episodes: int, spec: str = ".2f") -> str:
    numbers = (found[key] for key in ("value", "low", "high"))
    return Interval(*(float("nan") if number is None else number for number in numbers)).text(episodes, spec)
