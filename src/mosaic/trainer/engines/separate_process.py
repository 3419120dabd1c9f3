"""A process of a worker's program for a dry run. It leads a session of its own; what it prints is read."""

import contextlib
import os
import signal
from typing import IO

from mosaic.operating_system import LINUX, exit_code_of_group

CHUNK_BYTES = 1 << 20


class LocalApart:
    """Our own child, also if it was forked by another process."""

    def __init__(self, pid: int, output: IO[bytes]) -> None:
        self.pid = pid
        self._output = output
        self._read = 0
        self._code: int | None = None

    def exit_code(self) -> int | None:
        """None while it runs; does not wait. Negative is the signal that ended it."""
        if self._code is None:
            try:
                self._code = exit_code_of_group(self.pid)
            except ChildProcessError:
                self._code = -signal.SIGKILL
        return self._code

    def new_output(self) -> bytes:
        """What it has printed since the last look, both streams."""
        data = os.pread(self._output.fileno(), CHUNK_BYTES, self._read)
        self._read += len(data)
        return data

    def end(self) -> None:
        """End it and what it started, at once."""
        # Elsewhere than on Linux its group has ended with the exit code, and its pid may be another's by now.
        if LINUX or self._code is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:  # Its children have become ours.
                os.waitpid(-self.pid, 0)
        self._output.close()
