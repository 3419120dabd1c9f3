"""Unix sockets in folders of any depth (an address holds 104 bytes, a path may be longer), and whom they let in."""

import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from mosaic.operating_system import name_through_folder

MAX_ADDRESS_BYTES = 100
ROOT = 0


def connect(path: Path, *, timeout_s: float) -> socket.socket:
    """A stream to the listener there; OSError if there is none."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.settimeout(timeout_s)
        with short_address(path) as name:
            made.connect(name)
    except OSError:
        made.close()
        raise
    return made


@contextmanager
def short_address(path: Path) -> Generator[str]:
    """A name for this path that fits a socket's address: through the open folder where the path itself does not."""
    if len(os.fsencode(path)) <= MAX_ADDRESS_BYTES:
        yield str(path)
        return
    with name_through_folder(path) as name:
        yield name


def is_of_our_user(uid: int) -> bool:
    """Our own user, or root, who can read and stop everything of ours anyway."""
    return uid in (os.geteuid(), ROOT)
