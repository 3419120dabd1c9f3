"""`trials.jsonl` while a controller writes it: each line changes the state in memory and on disk alike."""

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from mosaic.errors import MosaicError
from mosaic.spec.files.shared_files import one_at_a_time
from mosaic.sweep import sweep_state
from mosaic.sweep.sweep_dir import Line, SweepDir, cut_torn_line, dumped, read_lines
from mosaic.sweep.sweep_state import SweepState

LOCK_WAIT_S = 1.0


class HasController(MosaicError):
    """Another controller works on this sweep."""


class TrialLog:
    """One writer; opened by the controller that holds the lock."""

    def __init__(self, sweep: SweepDir) -> None:
        self._sweep = sweep
        cut_torn_line(sweep.trials)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(sweep.trials, flags, 0o600)
        self.state: SweepState = sweep_state.read(sweep)

    def close(self) -> None:
        os.close(self._file)

    def write(self, kind: str, *, durable: bool = True, **fields: Any) -> None:
        """Durable when this returns, unless the line can be made again from what the daemon knows."""
        line: Line = {"kind": kind, **fields, "at": round(time.time(), 3)}
        text = dumped(line)
        if os.write(self._file, text) != len(text):
            raise OSError(f"{self._sweep.trials}: the disk is full")
        if durable:
            os.fsync(self._file)
        self.state.apply(line)

    def requests(self) -> list[Line]:
        """Those that are not followed yet."""
        found = read_lines(self._sweep.requests)
        self.state.asked = max((int(line["request"]) for line in found), default=0)
        return [line for line in found if int(line["request"]) > self.state.heard]


@contextmanager
def only_controller(sweep: SweepDir) -> Generator[None]:
    """Hold the lock of a sweep; the kernel lets go of it however this process ends."""
    busy = HasController(f"another process works on sweep {sweep.sweep_id}")
    with one_at_a_time(sweep.lock, busy=busy, wait_s=LOCK_WAIT_S):
        yield
