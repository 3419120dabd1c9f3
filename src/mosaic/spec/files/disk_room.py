"""How much room a run needs on its disk before it starts, and the refusal where there is less."""

import os
from pathlib import Path

from mosaic.errors import HomeUnusable

NEEDED_BYTES = 200 * 2**20
NEEDED_FILES = 50
"""Directories, logs, checkpoints and what TensorBoard writes."""
_ADVICE = "free some disk or set MOSAIC_HOME; 'mosaic delete RUN' removes a run"


def check(folder: Path) -> int:
    """The bytes that are free on the disk of a folder; HomeUnusable, with what there is and what is needed, if too few.

    The folder itself may not be there yet.
    """
    while not folder.exists():
        folder = folder.parent
    disk = os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize
    if free < NEEDED_BYTES:
        left, needed = free // 2**20, NEEDED_BYTES // 2**20
        raise HomeUnusable(
            f"{folder} has {left} MiB left, too little for a run, which needs {needed} MiB to start; {_ADVICE}"
        )
    # A file system that makes inodes as it needs them counts none.
    if disk.f_files and disk.f_favail < NEEDED_FILES:
        raise HomeUnusable(
            f"{folder} has room for {disk.f_favail} files more, too little for a run, which needs {NEEDED_FILES}; "
            f"{_ADVICE}"
        )
    return free
