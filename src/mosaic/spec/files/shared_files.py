"""Files that processes share: written whole or not at all, and locked by the living process."""

import fcntl
import os
import shutil
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from mosaic.errors import ConfigError, Problem
from mosaic.operating_system import nameless_file
from mosaic.spec.files.files_of_run import open_regular


def write_atomically(path: Path, content: str | bytes, *, durable: bool = True) -> None:
    """Temporary name, fsync, rename, fsync of the folder; on any error the old file stays and nothing is left over.

    Without `durable` nothing is synced: whole for every reader, but after a power cut it may be damaged or gone.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:  # Any error, a stop signal too: nothing is left over, and it goes on to the caller.
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def share(source: Path, target: Path) -> None:
    """A file under a second, new name, or a copy where the disk has no links: for what is replaced and never edited.

    Durable once the folder of `target` is synced.
    """
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # A file system without hard links; anything else fails again.
        shutil.copyfile(source, target, follow_symlinks=False)
        sync_file(target)


def read_small(path: Path, *, limit: int = 16 * 2**20) -> bytes:
    """A whole file that is small by its nature; a larger one is damaged, and is not taken into memory."""
    with open_regular(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ConfigError([Problem("", f"has more than {limit:,} bytes")], what=str(path))
    return data


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


def scratch_file() -> IO[bytes]:
    """A file without a name, gone with its last holder; in memory where the system can: every disk may be full."""
    return os.fdopen(nameless_file("mosaic"), "w+b")


@contextmanager
def one_at_a_time(lock: Path) -> Generator[None]:
    """Wait for the lock (flock) of a file, which is made and stays, and hold it while a file is read and rewritten."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
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
