"""Reading a file of lines while it grows: each whole line once, in order, never the same byte twice."""

from pathlib import Path
from typing import BinaryIO

from mosaic.spec.files.files_of_run import open_regular

LONGEST = 8 * 2**20
"""Bytes of a line that are read at most: what goes on behind them is passed over."""
PASSED_OVER_AT_ONCE = 2**20


class LineReader:
    """Hands out whole lines; one that is still being written is left for the next look."""

    def __init__(self, path: Path, *, offset: int = 0) -> None:
        self.path = path
        self.offset = offset
        """Bytes that were handed out."""
        self.size = 0
        """Bytes of the file at the last look."""
        self.restarted = False
        """Whether the file became shorter than what was read of it: the next lines are from its beginning."""
        self._in_long_line = False
        """The end of a line that is too long has not come yet."""

    def new_lines(self, limit: int = -1) -> list[bytes]:
        """Lines without their line feed; at most about `limit` bytes of them, and a line longer than that whole.

        With a limit, a line is cut off behind `LONGEST` bytes, so that no file takes more memory than that.
        """
        try:
            size = self.size = self.path.lstat().st_size
            if size < self.offset:
                self.offset, self.restarted, self._in_long_line = 0, True, False
            if size == self.offset:
                return []
            with open_regular(self.path) as file:
                file.seek(self.offset)
                if self._in_long_line and not self._pass_over(file):
                    return []
                data = file.read(limit)
                if 0 <= limit == len(data) and not data.endswith(b"\n"):
                    data += file.readline(LONGEST)
        except FileNotFoundError:
            return []
        if limit >= 0 and len(data) > LONGEST and b"\n" not in data:
            self.offset += len(data)
            self._in_long_line = True
            return [data]
        whole = data[: data.rfind(b"\n") + 1]
        self.offset += len(whole)
        # Not splitlines(): it also splits at a carriage return and at other characters that a message may hold.
        return whole.split(b"\n")[:-1]

    def _pass_over(self, file: BinaryIO) -> bool:
        """Go behind the end of a line that is too long; False if it has not come yet."""
        while data := file.read(PASSED_OVER_AT_ONCE):
            end = data.find(b"\n") + 1
            self.offset += end or len(data)
            if end:
                self._in_long_line = False
                file.seek(self.offset)
                return True
        return False
