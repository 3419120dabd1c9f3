"""The claim of a living daemon on the path of its home, which holds also when the folder is gone.

The lock of a home lies in the home: who removes or moves the folder takes the lock away with it, and a second daemon
could begin a second home at the same path beside the first. So a daemon also listens on an abstract unix socket named
after the path; the kernel closes it when the process ends, and nothing lies on a disk. That is Linux's; elsewhere the
claim is the lock (flock) of a small file in the temporary folder, which holds the daemon's process id.

    name      mosaic-<uid>-<first 32 hex digits of the SHA-256 of the path>, behind a zero byte or before `.claim`
    protocol  none: that it can be connected to, or is locked, says that a daemon lives
"""

import contextlib
import fcntl
import hashlib
import os
import socket
import tempfile
from pathlib import Path

from mosaic.operating_system import LINUX, peer_of

CONNECT_S = 1.0


class Claimed(Exception):
    """Another process of this user has the claim."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"process {pid}")
        self.pid = pid


class Claim:
    """Held until it is closed."""

    def __init__(self, *, listener: socket.socket | None = None, file: int = -1) -> None:
        self._listener = listener
        self._file = file

    def take_askers(self) -> None:
        """Drop the connections that wait: the queue of this socket, which nothing else empties, would fill up."""
        if self._listener is not None:
            with contextlib.suppress(BlockingIOError):
                while True:
                    self._listener.accept()[0].close()

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        if self._file >= 0:
            os.close(self._file)


def claim(root: Path) -> Claim:
    """The claim on this path; raises Claimed."""
    made = _by_socket(root) if LINUX else _by_file(root)
    if made is None:
        if (pid := claimant(root)) is not None:
            raise Claimed(pid)
        # The name is taken by another user, who has no say here.
        return Claim()
    return made


def claimant(root: Path) -> int | None:
    """Process id of the daemon that lives for this path, whether the folder is there or not."""
    return _listening_at(root) if LINUX else _locking(root)


def _by_socket(root: Path) -> Claim | None:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.setblocking(False)
    try:
        made.bind(f"\0{_name(root)}")
        made.listen()
    except OSError:
        made.close()
        return None
    return Claim(listener=made)


def _listening_at(root: Path) -> int | None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(CONNECT_S)
        try:
            asking.connect(f"\0{_name(root)}")
            pid, uid = peer_of(asking)
        except OSError:
            return None
    return pid if uid == os.getuid() else None


def _by_file(root: Path) -> Claim | None:
    try:
        descriptor = os.open(_file_of(root), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    except OSError:
        os.close(descriptor)
        return None
    return Claim(file=descriptor)


def _locking(root: Path) -> int | None:
    """The file stays when a daemon ends: what counts is its lock."""
    try:
        descriptor = os.open(_file_of(root), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        written = os.pread(descriptor, 32, 0)
        return int(written) if written.isdigit() and os.fstat(descriptor).st_uid == os.getuid() else None
    finally:
        os.close(descriptor)
    return None


def _file_of(root: Path) -> Path:
    return Path(tempfile.gettempdir()) / f"{_name(root)}.claim"


def _name(root: Path) -> str:
    return f"mosaic-{os.getuid()}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:32]}"
