"""Saves what a chart shows, in a thread: the points as CSV, or a picture that the chart has painted."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QByteArray, Signal
from PySide6.QtGui import QImage, QImageWriter

from mosaic.gui.models.background_work import BackgroundWork
from mosaic.gui.models.charts.charts_model import Member
from mosaic.gui.models.charts.series import Series

COLUMNS = ("run_id", "run", "group", "tag", "step", "time", "value")
"""Of the CSV; `time` is in Unix seconds."""
CHUNK = 20_000
"""Lines that are made at a time."""


class ChartExport(BackgroundWork):
    """Writes beside the event loop and tells how it went; a file appears whole or not at all."""

    done = Signal(str)
    failed = Signal(str)
    """A sentence for the user."""

    def save_points(self, path: Path, tag: str, points: Sequence[tuple[Member, Series]]) -> None:
        """Every point, as logged: neither smoothed nor reduced."""
        # The columns of this moment: those of a series that goes on are not touched by what comes.
        columns = [(member, (one.steps, one.times, one.values)) for member, one in points]

        def write(part: Path) -> None:
            with part.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(COLUMNS)
                for member, (steps, times, values) in columns:
                    head = (member.run_id, member.name, member.group, tag)
                    for begin in range(0, len(steps), CHUNK):
                        rows = (column[begin : begin + CHUNK].tolist() for column in (steps, times, values))
                        writer.writerows(
                            (*head, int(step), time, value) for step, time, value in zip(*rows, strict=True)
                        )

        count = sum(len(one) for _, one in points)
        self._start(path, write, f"{count:,} points")

    def save_picture(self, path: Path, picture: QImage | bytes) -> None:
        """A PNG of an image, which is compressed here, or what is a file already."""

        def write(part: Path) -> None:
            if isinstance(picture, bytes):
                part.write_bytes(picture)
                return
            writer = QImageWriter(str(part), QByteArray(b"png"))
            if not writer.write(picture):
                raise OSError(0, writer.errorString())

        self._start(path, write, "The chart")

    def _start(self, path: Path, write: Callable[[Path], object], what: str) -> None:
        def run() -> None:
            part = path.with_name(f".{path.name}.part")
            try:
                write(part)
                part.replace(path)
            except OSError as error:
                part.unlink(missing_ok=True)
                self.tell(self.failed, f"{path} could not be written: {error.strerror}; choose another folder")
            else:
                self.tell(self.done, f"{what} saved as {path}")

        self.run_beside(run, "save")
