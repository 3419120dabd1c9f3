"""The life lock of a run: `worker.lock`, locked (flock) by its worker as long as that lives.

The daemon takes it before it starts a worker and hands the open file over, so there is no moment in which a worker
exists without it. The kernel lets go of it when the worker ends, however it ends. It tells who lives without a pid, and
no second worker can be started beside the first.
"""

import errno
import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager

from mosaic.errors import InvalidTransition
from mosaic.spec.files.files_of_run import NotAFile
from mosaic.spec.run_dir import RunDir

INHERITED = "MOSAIC_LIFE_LOCK_INHERITED"
"""Set in the environment of a worker that was handed the locked file."""


@contextmanager
def life_lock(run_dir: RunDir) -> Generator[int]:
    """The lock, taken, as an open file; raises InvalidTransition if a worker holds it."""
    try:
        descriptor = os.open(run_dir.life_lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotAFile(run_dir.life_lock) from error
        raise
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidTransition(f"run {run_dir.run_id} already has a living worker; stop that one first") from None
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def own_life(run_dir: RunDir) -> Generator[None]:
    """In a worker: hold the lock, unless the process that started this worker handed it over."""
    if os.environ.get(INHERITED):
        yield
    else:
        with life_lock(run_dir):
            yield
