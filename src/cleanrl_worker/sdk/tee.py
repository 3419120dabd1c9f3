"""Copies of this process's stdout and stderr in the run's logs, where nobody redirected them there already."""

import os
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from mosaic.spec.run_dir import RunDir


class _Tee:
    """Writes to two streams; everything else is the first one's."""

    def __init__(self, stream: TextIO, copy: TextIO) -> None:
        self._stream = stream
        self._copy = copy

    def write(self, text: str) -> int:
        self._copy.write(text)
        return self._stream.write(text)

    def flush(self) -> None:
        self._copy.flush()
        self._stream.flush()

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
            copy = stack.enter_context(path.open("a", encoding="utf-8", buffering=1))
            setattr(sys, name, _Tee(stream, copy))
            stack.callback(setattr, sys, name, stream)
        yield


def _goes_to(stream: TextIO, path: Path) -> bool:
    """A supervisor has already pointed this stream at the log file."""
    try:
        return path.exists() and os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except (OSError, ValueError):
        return False
