"""The life lock of a run: `worker.lock`, locked (flock) by its worker as long as that lives.

The daemon takes it before it starts a worker and hands the open file over, so there is no moment in which a worker
exists without it. The kernel lets go of it when the worker ends, however it ends. It tells who lives without a pid, and
no second worker can be started beside the first.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager

from mosaic.errors import InvalidTransition
from mosaic.spec.files.files_of_run import NotAFile
from mosaic.spec.files.shared_files import one_at_a_time
from mosaic.spec.run_dir import RunDir

INHERITED = "MOSAIC_LIFE_LOCK_INHERITED"
"""Set in the environment of a worker that was handed the locked file."""


@contextmanager
def life_lock(run_dir: RunDir) -> Generator[int]:
    """The lock, taken, as an open file; raises InvalidTransition if a worker holds it."""
    if run_dir.life_lock.is_symlink():
        raise NotAFile(run_dir.life_lock)
    busy = InvalidTransition(f"run {run_dir.run_id} already has a living worker; stop that one first")
    with one_at_a_time(run_dir.life_lock, busy=busy) as descriptor:
        yield descriptor


@contextmanager
def own_life(run_dir: RunDir) -> Generator[None]:
    """In a worker: hold the lock, unless the process that started this worker handed it over."""
    if os.environ.get(INHERITED):
        yield
    else:
        with life_lock(run_dir):
            yield
