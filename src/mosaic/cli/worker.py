"""Starting worker processes from the command line."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mosaic.errors import MosaicError
from mosaic.spec.run_dir import RunDir

LAST_LINES = 20


class WorkerFailed(MosaicError):
    """A worker ended badly; the command ends with the worker's own code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Started:
    """A worker and what it says on stderr; it copies both streams to the logs of its run by itself."""

    process: "subprocess.Popen[bytes]"
    stderr: IO[bytes]
    run_dir: RunDir

    def check(self) -> None:
        """Wait, and raise what the worker said if it failed."""
        code = self.process.wait()
        if code == 0:
            return
        self.stderr.seek(0)
        said = self.stderr.read().decode(errors="replace").rstrip().splitlines()
        lines = [line.removeprefix("error: ") for line in said[-LAST_LINES:]] or [f"the worker ended with code {code}"]
        if self.run_dir.root.exists():
            lines.append(f"(the whole log: {self.run_dir.stderr})")
        raise WorkerFailed(code if 0 < code < 128 else 1, "\n".join(lines))


def start(module: str, flags: Sequence[str | Path], run_dir: RunDir) -> Started:
    """A worker in a session of its own, so that Ctrl-C and a closed terminal do not reach it."""
    command = [sys.executable, "-m", module, *map(str, flags), "--run-dir", str(run_dir.root)]
    stderr = tempfile.TemporaryFile()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr, start_new_session=True
    )
    return Started(process, stderr, run_dir)
