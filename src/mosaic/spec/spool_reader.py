"""Reading a file of lines while it grows: each whole line once, in order, never the same byte twice."""

from pathlib import Path

from mosaic.spec.own_files import open_regular


class LineReader:
    """Hands out whole lines; one that is still being written is left for the next look."""

    def __init__(self, path: Path, *, offset: int = 0) -> None:
        self.path = path
        self.offset = offset
        """Bytes that were handed out."""
        self.restarted = False
        """Whether the file became shorter than what was read of it: the next lines are from its beginning."""

    def new_lines(self, limit: int = -1) -> list[bytes]:
        """Lines without their line feed; at most about `limit` bytes of them, and a line longer than that whole."""
        try:
            size = self.path.lstat().st_size
            if size < self.offset:
                self.offset, self.restarted = 0, True
            if size == self.offset:
                return []
            with open_regular(self.path) as file:
                file.seek(self.offset)
                data = file.read(limit)
                if 0 <= limit == len(data):
                    data += file.readline()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self.offset += len(whole)
        # Not splitlines(): it also splits at a carriage return and at other characters that a message may hold.
        return whole.split(b"\n")[:-1]
