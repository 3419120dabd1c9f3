"""Which signals a worker answers: a process without a handler is ended by SIGUSR1 and SIGUSR2.

Linux tells it of every process. Elsewhere a worker writes it down, into `mosaic-<uid>-<pid>.signals` of the temporary
folder: {"start_time": 1234.5, "caught": [15, 30]}. A note of another process with the same pid does not count.
"""

import json
import os
import signal
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mosaic import operating_system
from mosaic.operating_system import LINUX

Handler = Callable[[int, Any], Any] | int | None
_caught: set[int] = set()


def answer(number: int, handler: Handler) -> Handler:
    """`signal.signal`, and a note of it where the system does not tell."""
    before: Handler = signal.signal(number, handler)
    if not LINUX:
        if callable(handler):
            _caught.add(number)
        else:
            _caught.discard(number)
        _write()
    return before


@contextmanager
def answered_by(handlers: Mapping[signal.Signals, Handler]) -> Generator[None]:
    """While it is open, signals are answered so; then as before."""
    previous = {number: answer(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in previous.items():
            answer(number, handler)


def is_caught(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal."""
    if LINUX:
        lines = operating_system.proc_lines(f"{pid}/status") or []
        caught = next((line.split()[1] for line in lines if line.startswith("SigCgt:")), "0")
        return bool(int(caught, 16) >> (number - 1) & 1)
    import psutil

    try:
        note = json.loads(_note(pid).read_bytes())
        return note["start_time"] == operating_system.start_time(pid) and number in note["caught"]
    except (OSError, ValueError, KeyError, TypeError, psutil.NoSuchProcess):
        return False


def forget(pid: int) -> None:
    """Remove the note of a process that has ended."""
    if not LINUX:
        _note(pid).unlink(missing_ok=True)


def _write() -> None:
    from mosaic.spec.files.shared_files import write_atomically

    note = {"start_time": operating_system.start_time(os.getpid()), "caught": sorted(_caught)}
    write_atomically(_note(os.getpid()), json.dumps(note), durable=False)


def _note(pid: int) -> Path:
    return Path(tempfile.gettempdir()) / f"mosaic-{os.getuid()}-{pid}.signals"
