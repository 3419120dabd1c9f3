"""The files of rings: where they lie, how they are named, and whether their writer lives. Without numpy."""

import os
import re
from pathlib import Path

from mosaic.errors import MosaicError
from mosaic.operating_system import shared_folders
from mosaic.spec.files.files_of_run import is_regular
from mosaic.spec.files.shared_files import is_locked


class RingRefused(MosaicError):
    """The file is not a ring of this version, or damaged."""


def folders() -> tuple[Path, ...]:
    """Where rings may be: shared memory, else (in a container it can be absent, or tiny) the temporary folder."""
    return shared_folders()


def is_ring(path: Path) -> bool:
    """Whether this is a ring that a worker of our user may have made: by its place and name, and no link."""
    name = re.fullmatch(rf"mosaic-{os.getuid()}-[0-9a-f]+\.ring", path.name)
    return name is not None and path.parent in folders() and is_regular(path)


def writer_lives(path: Path) -> bool:
    """Whether the process that made a ring still runs: it holds the file's lock, and the kernel lets go of it."""
    try:
        return is_locked(path)
    except OSError:
        return False
