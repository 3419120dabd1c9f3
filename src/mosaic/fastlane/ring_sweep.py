"""Removing rings that no living worker owns: what a killed worker left in shared memory."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from mosaic.fastlane.ring_files import folders, writer_lives

UNFINISHED_S = 60.0
"""A file younger than this may be a ring that is being made right now."""


def sweep(where: Sequence[Path] | None = None) -> list[Path]:
    """Remove our user's rings, leases and wake sockets whose writer is gone; what was removed."""
    removed: list[Path] = []
    for folder in folders() if where is None else where:
        for path in folder.glob(f"mosaic-{os.getuid()}-*.ring"):
            if not _young(path) and not writer_lives(path):
                path.unlink(missing_ok=True)
                removed.append(path)
        # A reader may outlive the ring it looks at.
        for path in folder.glob(f"mosaic-{os.getuid()}-*.ring.*"):
            ring = path.with_name(path.name.partition(".ring.")[0] + ".ring")
            if not ring.exists() and not _young(path):
                path.unlink(missing_ok=True)
                removed.append(path)
    return removed


def _young(path: Path) -> bool:
    """Empty (no header yet) or just touched."""
    try:
        found = path.stat()
    except OSError:
        return True
    return found.st_size == 0 and time.time() - found.st_mtime < UNFINISHED_S
