"""Files that processes share: written whole or not at all, and locked by whoever lives."""

import fcntl
import os
import threading
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Temporary name, fsync, rename, fsync of the folder; on any error the old file stays and nothing is left over."""
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:  # Whatever it was, a stop signal too: nothing is left over, and it goes on to the caller.
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable: a rename is not on disk before its folder is."""
    sync_file(folder)


def sync_file(path: Path) -> None:
    """Wait until a file that was written elsewhere is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Whether a living process holds the lock (flock) of a file; OSError if there is no such file."""
    # Without waiting for a writer, where a pipe lies in the place of the file.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
