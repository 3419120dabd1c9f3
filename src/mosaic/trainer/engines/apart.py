"""A process of a worker's program that is no run: a dry run. It leads a session of its own; what it prints is read."""

import contextlib
import os
import signal
from typing import IO

CHUNK_BYTES = 1 << 20


class Apart:
    """Our own child, also if it was forked by another process; whoever has it started ends it."""

    def __init__(self, pid: int, output: IO[bytes]) -> None:
        self.pid = pid
        self._output = output
        self._read = 0

    def exit_code(self) -> int | None:
        """None while it runs; does not wait. Negative is the signal that ended it."""
        try:
            # WNOWAIT: its pid stays its own until what it left behind is ended, too.
            ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return -signal.SIGKILL
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def new_output(self) -> bytes:
        """What it has printed since the last look, both streams."""
        data = os.pread(self._output.fileno(), CHUNK_BYTES, self._read)
        self._read += len(data)
        return data

    def end(self) -> None:
        """End it and what it started, at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:  # Its children have become ours.
                os.waitpid(-self.pid, 0)
        self._output.close()
