"""Reading a file of lines while it grows: each whole line once, in order, never the same byte twice."""

from pathlib import Path
from typing import BinaryIO

LONGEST_LINE = 4 * 2**20
"""Bytes; the longest events that workers write have some hundred thousand."""


class LineReader:
    """Hands out whole lines; one that is still being written is left for the next look."""

    def __init__(self, path: Path, *, offset: int = 0) -> None:
        self.path = path
        self.offset = offset
        """Bytes that were handed out."""
        self.restarted = False
        """Whether the file became shorter than what was read of it: the next lines are from its beginning."""

    def new_lines(self, limit: int = -1) -> list[bytes]:
        """Lines without their line feed; at most about `limit` bytes of them, and a line longer than that whole.

        Of a line longer than LONGEST_LINE only the first `limit` bytes are handed out: it is no event, and would have
        to be held in memory.
        """
        try:
            size = self.path.stat().st_size
            if size < self.offset:
                self.offset, self.restarted = 0, True
            if size == self.offset:
                return []
            with self.path.open("rb") as file:
                file.seek(self.offset)
                data = file.read(limit)
                if 0 <= limit == len(data):
                    data += file.readline(LONGEST_LINE)
                    if len(data) >= LONGEST_LINE and b"\n" not in data:
                        return self._cut(data[:limit], file)
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self.offset += len(whole)
        # Not splitlines(): it also splits at a carriage return and at other characters that a message may hold.
        return whole.split(b"\n")[:-1]

    def _cut(self, begin: bytes, file: BinaryIO) -> list[bytes]:
        """Step over the rest of a line that is too long; nothing while its end is not written yet."""
        while rest := file.readline(LONGEST_LINE):
            if rest.endswith(b"\n"):
                self.offset = file.tell()
                return [begin]
        return []
