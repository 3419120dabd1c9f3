"""The spool: `events.jsonl`, appended by one writer; a torn last line of a killed attempt is cut off first."""

import os
from collections.abc import Sequence
from pathlib import Path

from mosaic.spec.events import Event, RunStarted, decode_spool, encode


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
        file.truncate(file.read().rfind(b"\n") + 1)
        file.seek(0)
        last_seq = attempts = 0
        for event in decode_spool(file):
            last_seq = event.seq
            attempts += isinstance(event.body, RunStarted)
    return last_seq, attempts
