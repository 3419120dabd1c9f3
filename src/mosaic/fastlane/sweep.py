"""Removing rings that no living worker owns: what a killed worker left in shared memory."""

import os
import struct
from pathlib import Path

import psutil

from mosaic.fastlane.ring import MAGIC, folder

_PID_AT = 28


def sweep(where: Path | None = None) -> list[Path]:
    """Remove our user's rings and leases whose writer is gone; what was removed."""
    removed: list[Path] = []
    for path in (where or folder()).glob(f"mosaic-{os.getuid()}-*.ring"):
        if not _writer_lives(path):
            for leftover in [path, *path.parent.glob(f"{path.name}.lease-*")]:
                leftover.unlink(missing_ok=True)
                removed.append(leftover)
    return removed


def _writer_lives(path: Path) -> bool:
    try:
        head = path.open("rb").read(_PID_AT + 4)
    except OSError:
        return True
    if len(head) < _PID_AT + 4 or head[: len(MAGIC)] != MAGIC:
        # Being made right now, or not ours: not for us to remove.
        return True
    (pid,) = struct.unpack_from("<I", head, _PID_AT)
    return psutil.pid_exists(pid)
