"""Copies of this process's stdout and stderr in the run's logs, with times, where they are not redirected there."""

import os
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from mosaic.spec.logs import log_times
from mosaic.spec.run_dir import RunDir


class _Tee:
    """Writes to two streams; everything else is the first stream's. One that breaks is given up, the other goes on."""

    def __init__(self, stream: TextIO, copy: TextIO) -> None:
        self._stream = stream
        self._copy: TextIO | None = copy

    def write(self, text: str) -> int:
        self._to_copy(text)
        try:
            self._stream.write(text)
        except OSError:
            self._give_up_stream()
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            self._give_up_stream()

    def _to_copy(self, text: str) -> None:
        try:
            if self._copy is not None:
                self._copy.write(text)
        except OSError as error:  # The disk is full: the terminal must still be told why the run ends.
            self._copy = None
            self.write(f"this log gets no further copy in the run directory: {error}\n")

    def _give_up_stream(self) -> None:
        """The terminal or pipe is gone, which is not a reason to end a run."""
        # Through its descriptor, so that the interpreter does not stumble over it either when it ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
        self._to_copy("the stream that this is a copy of was closed; this log goes on\n")

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


@contextmanager
def logged_to(run_dir: RunDir) -> Generator[None]:
    with ExitStack() as stack:
        for name, path in (("stdout", run_dir.stdout), ("stderr", run_dir.stderr)):
            stream: TextIO = getattr(sys, name)
            if _goes_to(stream, path):
                continue
            # Line-buffered: the last lines before a kill are the ones that explain it.
            copy = path.open("a", encoding="utf-8", buffering=1)
            stack.callback(_close, copy)
            setattr(sys, name, _Tee(stream, copy))
            stack.callback(setattr, sys, name, stream)
        stack.enter_context(log_times.marking(run_dir))
        yield


def _close(copy: TextIO) -> None:
    try:
        copy.close()
    except OSError as error:
        sys.stderr.write(f"{copy.name} is incomplete: {error}\n")


def _goes_to(stream: TextIO, path: Path) -> bool:
    """A supervisor has already pointed this stream at the log file."""
    try:
        return path.exists() and os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except (OSError, ValueError):
        return False
