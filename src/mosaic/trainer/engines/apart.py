"""A process of a worker's program that is no run: a dry run. It leads a session of its own; what it prints is read."""

import contextlib
import os
import signal
from typing import IO

from mosaic.operating_system import has_ended

CHUNK_BYTES = 1 << 20


class Apart:
    """Our own child, also if it was forked by another process; whoever has it started ends it."""

    def __init__(self, pid: int, output: IO[bytes]) -> None:
        self.pid = pid
        self._output = output
        self._read = 0
        self._code: int | None = None

    def exit_code(self) -> int | None:
        """None while it runs; does not wait. Negative is the signal that ended it."""
        if self._code is None:
            try:
                if not has_ended(self.pid):
                    return None
                # Before it is waited for: its pid stays its own until what it left behind is ended, too.
                self._kill_group()
                self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
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
        if self._code is None:
            self._kill_group()
        with contextlib.suppress(ChildProcessError):
            while True:  # Its children have become ours.
                os.waitpid(-self.pid, 0)
        self._output.close()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
