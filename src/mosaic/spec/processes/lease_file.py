"""The lease of a worker on another machine, in a file that its agent renews: until when it may work.

A worker reads it twice a second and ends by itself when it has run out, with a checkpoint, also where its agent was
killed or stands still. So a second worker, which the daemon starts later than that, is never beside it.

    bytes 0..7    until when: seconds since the boot of the machine, standby included; float64, little-endian
    bytes 8..15   how many seconds a worker then has to save and end; float64, little-endian

The name of the file is in the environment of the worker. Nothing is done where it is not.
"""

import os
import signal
import struct
import sys
import threading
import time
from pathlib import Path

VARIABLE = "MOSAIC_LEASE"
LOOK_S = 0.5
_LAYOUT = struct.Struct("<dd")


def now() -> float:
    """Seconds since the boot. It goes on while the machine sleeps, unlike the monotonic clock of Linux."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


def write(path: Path, *, until: float, grace_s: float) -> None:
    """In place, in one write: a reader sees the old lease or the new one."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.pwrite(descriptor, _LAYOUT.pack(until, grace_s), 0)
    finally:
        os.close(descriptor)


def read(path: Path) -> tuple[float, float]:
    """Until when, and the seconds of grace; a lease that is not there has run out."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return 0.0, 0.0
    return _LAYOUT.unpack(data) if len(data) == _LAYOUT.size else (0.0, 0.0)


def read_again(path: Path, last: tuple[float, float]) -> tuple[float, float]:
    """The lease as it is now; as it was at the last look where the disk does not answer: it still runs out."""
    try:
        return read(path)
    except OSError:
        return last


def keep_to_it() -> None:
    """In a worker: end when the lease has run out. Nothing without one."""
    if path := os.environ.get(VARIABLE):
        # Read here for the first time: a worker that cannot do so does not begin.
        threading.Thread(target=_watch, args=(Path(path), read(Path(path))), name="lease", daemon=True).start()


def _watch(path: Path, held: tuple[float, float]) -> None:
    while True:
        until, grace_s = held = read_again(path, held)
        late = now() - until
        if late >= grace_s:
            # Its environments too: they share its group.
            os.killpg(os.getpgrp(), signal.SIGKILL)
        # A second SIGTERM would end it without a checkpoint.
        if late >= 0 and callable(signal.getsignal(signal.SIGTERM)):
            os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(LOOK_S)
