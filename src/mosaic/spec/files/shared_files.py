"""Files that processes share: written whole or not at all, and locked by the living process."""

import fcntl
import os
import shutil
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from mosaic.errors import ConfigError, Problem
from mosaic.operating_system import nameless_file
from mosaic.spec.files.files_of_run import open_regular


def write_atomically(path: Path, content: str | bytes, *, durable: bool = True, mode: int | None = None) -> None:
    """Temporary name, fsync, rename, fsync of the folder; on any error the old file stays and nothing is left over.

    Without `durable` nothing is synced: whole for every reader, but after a power cut it may be damaged or gone. `mode`
    says who may read it, whatever the umask is.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = temporary_of(path, f".{os.getpid()}-{threading.get_ident()}")
    try:
        with temporary.open("wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
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


def temporary_of(path: Path, writer: str = "") -> Path:
    """The name of a file or folder as long as it is being written or removed."""
    return path.with_name(f".{path.name}{writer}.tmp")


def is_temporary(name: str) -> bool:
    return name.startswith(".") and name.endswith(".tmp")


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
def one_at_a_time(lock: Path, *, busy: Exception | None = None, wait_s: float = 0.0) -> Generator[int]:
    """Hold the lock (flock) of a file, which is made and stays; the kernel lets go of it however the holder ends.

    Waits as long as another process holds it, or raises `busy` after `wait_s`: who asks `is_locked` holds it for a
    moment, too.
    """
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + wait_s
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX if busy is None else fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as held:
                if time.monotonic() >= deadline:
                    raise busy or held from None
                time.sleep(0.02)
        yield descriptor
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Whether a living process holds the lock (flock) of a file. One that is missing is not made: disks may be full."""
    try:
        # Without waiting for a writer, where a pipe lies in the place of the file.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
