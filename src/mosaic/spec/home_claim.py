"""The claim of a living daemon on the path of its home, which holds also when the folder is gone.

The lock of a home lies in the home: who removes or moves the folder takes the lock away with it, and a second daemon
could begin a second home at the same path beside the first. So a daemon also listens on an abstract unix socket named
after the path; the kernel closes it when the process ends, and nothing lies on a disk. Linux only: elsewhere there is
no such claim.

    name      \\0mosaic-<uid>-<first 32 hex digits of the SHA-256 of the path>
    protocol  none: that it can be connected to says that a daemon lives, SO_PEERCRED says which
"""

import contextlib
import hashlib
import os
import socket
import struct
import sys
from pathlib import Path

CONNECT_S = 1.0
_CREDENTIALS = struct.Struct("3i")
"""struct ucred: pid, uid, gid."""


class Claimed(Exception):
    """Another process of this user has the claim."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"process {pid}")
        self.pid = pid


def claim(root: Path) -> socket.socket | None:
    """The claim, held until it is closed; raises Claimed. None where the system has no abstract sockets."""
    if sys.platform != "linux":
        return None
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
    try:
        made.bind(_name(root))
        made.listen()
    except OSError:
        made.close()
        if (pid := claimant(root)) is not None:
            raise Claimed(pid) from None
        # The name is taken by another user, who has no say here.
        return None
    return made


def claimant(root: Path) -> int | None:
    """Process id of the daemon that lives for this path, whether the folder is there or not."""
    if sys.platform != "linux":
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as asking:
        asking.settimeout(CONNECT_S)
        try:
            asking.connect(_name(root))
            found = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        except OSError:
            return None
    pid, uid, _ = _CREDENTIALS.unpack(found)
    return pid if uid == os.getuid() else None


def take_askers(claimed: socket.socket | None) -> None:
    """Forget those who asked: the queue of a socket that nobody accepts from is full one day."""
    if claimed is not None:
        with contextlib.suppress(BlockingIOError):
            while True:
                claimed.accept()[0].close()


def _name(root: Path) -> str:
    return f"\0mosaic-{os.getuid()}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:32]}"
