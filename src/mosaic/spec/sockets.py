"""Unix sockets in folders of any depth (an address holds 107 bytes, a path may be longer), and who connected to one."""

import os
import socket
import struct
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

MAX_ADDRESS_BYTES = 100
ROOT = 0


def connect(path: Path, *, timeout_s: float) -> socket.socket:
    """A stream to whoever listens there; OSError if nobody does."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
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
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """Pid and uid of the process that connected, as the kernel noted them at that moment (SO_PEERCRED)."""
    pid, uid, _ = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid


def is_of_our_user(uid: int) -> bool:
    """Our own user, or root, who can read and stop everything of ours anyway."""
    return uid in (os.geteuid(), ROOT)
