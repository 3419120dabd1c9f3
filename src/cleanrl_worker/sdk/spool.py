"""The spool: `events.jsonl`, appended by one writer; a torn last line of a killed attempt is cut off first."""

import os
from collections.abc import Sequence
from pathlib import Path

from mosaic.spec.events import Event, decode_spool, encode


class Spool:
    """A sink that appends one line an event; `last_seq` is where an earlier attempt ended."""

    def __init__(self, path: Path) -> None:
        self.last_seq = _repair(path)
        self._file = path.open("ab", buffering=0)

    def write(self, events: Sequence[Event]) -> None:
        data = "".join([encode(event) + "\n" for event in events]).encode()
        # An unbuffered write may be short when the disk fills up; the rest then raises.
        while data:
            data = data[self._file.write(data) :]

    def close(self) -> None:
        os.fsync(self._file.fileno())
        self._file.close()


def _repair(path: Path) -> int:
    """Cut off a torn last line; the sequence number of the last whole one."""
    if not path.exists():
        return 0
    with path.open("r+b") as file:
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)
    last = 0
    with path.open("rb") as file:
        for event in decode_spool(file):
            last = event.seq
    return last
