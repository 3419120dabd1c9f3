"""The spool: `events.jsonl`, appended by one writer; a torn last line of a killed attempt is cut off first."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from mosaic.spec.events import Event, EventReader, RunStarted, encode
from mosaic.spec.files.spool_reader import LineReader

PIECE_BYTES = 2**20


class Spool:
    """Appends one line an event; `last_seq` is where earlier attempts ended, `attempts` how many there were."""

    def __init__(self, path: Path) -> None:
        self.last_seq, self.attempts = _repair(path)
        self._file = path.open("ab", buffering=0)

    def write(self, events: Sequence[Event]) -> None:
        data = "".join([encode(event) + "\n" for event in events]).encode()
        # An unbuffered write may be short when the disk fills up; the rest then raises.
        while data:
            data = data[self._file.write(data) :]

    def sync(self) -> None:
        """Wait until what was written is on disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        with self._file:
            self.sync()


def _repair(path: Path) -> tuple[int, int]:
    """Cut off a torn last line; the sequence number of the last whole one, and the number of attempts."""
    if not path.exists():
        return 0, 0
    with path.open("r+b") as file:
        file.truncate(_end_of_last_line(file))
    lines, spool, attempts = LineReader(path), EventReader(), 0
    while True:
        new = lines.new_lines(PIECE_BYTES)
        for event in spool.read(new) if new else spool.rest():
            if isinstance(event.body, RunStarted):
                # The start of an earlier attempt may be damaged: what a later one says of itself counts.
                attempts = max(attempts + 1, event.body.attempt)
        if not new:
            # A damaged line has its place in the sequence, too.
            return spool.last_seq + spool.skipped, attempts


def _end_of_last_line(file: BinaryIO) -> int:
    """Where the last whole line ends, looked for from the end of the file."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - PIECE_BYTES)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
