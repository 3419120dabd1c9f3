"""When the lines of a log were printed: `logs/cleanrl.stdout.times` beside `logs/cleanrl.stdout.log`, for stderr too.

The log itself stays what the worker printed, byte for byte. The times are records of 16 bytes, little-endian: a
float64, the unix seconds at which the log was last written to, and a uint64, how many bytes it had then. Both only grow
from record to record. A line is of the time of the first record that counts its last byte; one behind the last record
is of the time at which the log was last written to. Seconds of 0 mean that nothing is known: an old log without times.

The worker writes a record four times a second where its log has grown, the engine one before it starts a worker.
A torn record at the end counts as none.
"""

import os
import struct
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, overload

from mosaic.log import get_logger
from mosaic.spec.files.files_of_run import NotAFile
from mosaic.spec.run_dir import RunDir

RECORD = struct.Struct("<dQ")
INTERVAL_S = 0.25

log = get_logger()


class LogTimes(Sequence[tuple[float, int]]):
    """The records of a log; read where they are looked at."""

    def __init__(self, file: BinaryIO | None, log_file: os.stat_result | None) -> None:
        self._file = file
        self._count = 0 if file is None else os.fstat(file.fileno()).st_size // RECORD.size
        self._written = log_file.st_mtime if log_file is not None else 0.0

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> tuple[float, int]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[float, int]]: ...
    def __getitem__(self, index: int | slice) -> tuple[float, int] | Sequence[tuple[float, int]]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(self._count))]
        if not 0 <= index < self._count or self._file is None:
            raise IndexError(index)
        data = os.pread(self._file.fileno(), RECORD.size, index * RECORD.size)
        time, size = RECORD.unpack(data)
        return (time if 0 <= time < 1e11 else 0.0), size

    def at(self, end: int) -> float:
        """When the byte before this one was printed; 0 if that is not known."""
        if not self._count:
            return 0.0
        record = bisect_left(self, end, key=lambda record: record[1])
        return self[record][0] if record < self._count else self._written

    def bytes_before(self, time: float, size: int, *, and_at: bool) -> int:
        """How much of the log, which has `size` bytes, was printed before a time (and at it)."""
        if not self._count:
            return size if time > 0 or and_at else 0
        if self._written < time or (and_at and self._written == time):
            return size
        record = (bisect_right if and_at else bisect_left)(self, time, key=lambda record: record[0])
        return min(self[record - 1][1], size) if record else 0


def mark(log_path: Path, times: Path) -> None:
    """Write down how long the log is, if it has grown since the last record."""
    with times.open("a+b", buffering=0) as file:
        found = log_path.stat() if log_path.exists() else None
        size, written = (found.st_size, found.st_mtime) if found is not None else (0, 0.0)
        whole = file.seek(0, os.SEEK_END) // RECORD.size * RECORD.size
        if whole != file.tell():
            file.truncate(whole)
        if not whole:
            file.write(RECORD.pack(0.0, size))
            return
        file.seek(whole - RECORD.size)
        time, known = RECORD.unpack(file.read(RECORD.size))
        if size > known:
            file.write(RECORD.pack(max(time, written), size))


def mark_all(run_dir: RunDir) -> None:
    """Of stdout and stderr of a run; a file that is a link is left alone."""
    for log_path, times in ((run_dir.stdout, run_dir.stdout_times), (run_dir.stderr, run_dir.stderr_times)):
        if not times.is_symlink():
            mark(log_path, times)


@contextmanager
def marking(run_dir: RunDir) -> Generator[None]:
    """Mark the logs of this process's run for as long as it works, in a thread that the run does not wait for."""
    closing = threading.Event()

    logs = (run_dir.stdout, run_dir.stderr)

    def work() -> None:
        marked: list[int] = []
        try:
            while not closing.wait(INTERVAL_S):
                # Nothing is opened while nothing is printed: the training pays for this thread. What grows after this
                # look is marked by the next one.
                sizes = [_size(path) for path in logs]
                if sizes != marked:
                    mark_all(run_dir)
                    marked = sizes
            mark_all(run_dir)
        except OSError as error:
            _complain(error)

    # Before anything is printed: what is in the logs by now is of an earlier process.
    try:
        mark_all(run_dir)
    except OSError as error:
        _complain(error)
        yield
        return
    thread = threading.Thread(target=work, name="log-times", daemon=True)
    thread.start()
    try:
        yield
    finally:
        closing.set()
        thread.join()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _complain(error: OSError) -> None:
    # A full disk: the run goes on, and its last lines get the time of the last write.
    log.warning("log.times_not_written", error=str(error))


@contextmanager
def times_of(run_dir: RunDir, log_path: Path, times: Path) -> Generator[LogTimes]:
    look = run_dir.look(log_path)
    try:
        file = run_dir.open(times)
    except NotAFile:
        yield LogTimes(None, look)
        return
    with file:
        yield LogTimes(file, look)
