"""The ring: one writer, any number of read-only readers, the newest frame wins, the writer never waits.

A plain file (under /dev/shm where there is one), mode 0600, random name, mapped by all, locked (flock) by its writer as
long as that lives. `mosaic.fastlane.ring_layout` says which bytes are where.

Write                                                   Read
    1. n = published + 1, slot n % slots                    1. n = published; 0: nothing yet
    2. sequence += 1 (odd)                                  2. s = sequence of slot n % slots; odd: start over
    3. write head and pixels                                3. copy head and pixels
    4. sequence += 1 (even)                                 4. sequence is no longer s: start over
    5. published = n                                        5. the frame is whole

The hazard: 3 must not become visible before 2, nor after 4. The sequence and `published` are aligned machine words,
each stored by a call of its own; x86 keeps stores in order, and on weaker machines the locks that the interpreter takes
between two calls are fences. A reader that is overtaken during its copy notices in step 4.
"""

import contextlib
import errno
import fcntl
import mmap
import os
import secrets
import struct
import time
from pathlib import Path

import numpy as np

from mosaic import operating_system
from mosaic.fastlane.ring_files import folders
from mosaic.fastlane.ring_layout import (
    ABOUT_AT,
    ABOUT_BYTES,
    BGRX,
    CLOSED_AT,
    EVALUATION,
    FPS_AT,
    HEADER,
    LINE_BYTES,
    MAGIC,
    MAX_TILES,
    NOTE_AT,
    NOTE_BYTES,
    PUBLISHED_AT,
    SLOT,
    SLOT_HEAD_BYTES,
    TILE,
    TILES_AT,
    VERSION,
    Frame,
    FrameHead,
    Geometry,
    Pixels,
    RingRefused,
    checked_header,
    packed_tiles,
    padded,
    unpacked_tiles,
    unpadded,
)

SLOTS = 3
MAX_PIXELS = 1280 * 960
MAX_RETRIES = 1000
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EACCES, errno.EROFS, errno.ENOENT)


class RingWriter:
    """Publishes frames; one process owns the ring, and `close` there removes it."""

    def __init__(self, path: Path, descriptor: int, geometry: Geometry, *, owned: bool) -> None:
        self.path = path
        self.max_pixels = geometry.max_pixels
        self._descriptor = descriptor
        self._geometry = geometry
        self._owned = owned
        self._map = mmap.mmap(descriptor, geometry.file_bytes)
        self._bytes = np.frombuffer(self._map, dtype=np.uint8)
        self._words = self._bytes.view("<u8")
        self._published = int(self._words[PUBLISHED_AT // 8])

    @classmethod
    def create(cls, *, max_pixels: int = MAX_PIXELS, slots: int = SLOTS) -> "RingWriter":
        """A new ring, owned by this process; OSError where there is no room for it."""
        geometry = Geometry.of(slots, max_pixels)
        ring = cls(*_create(geometry.file_bytes), geometry, owned=True)
        header = (VERSION, slots, geometry.slot_bytes, BGRX, max_pixels, os.getpid(), 0, 0)
        HEADER.pack_into(ring._map, 0, MAGIC, *header)
        return ring

    @classmethod
    def attach(cls, path: Path) -> "RingWriter":
        """The ring of another process, to publish in its stead; there must be one writer at a time."""
        descriptor, geometry = _open(path, os.O_RDWR)
        return cls(path, descriptor, geometry, owned=False)

    @property
    def closed(self) -> bool:
        """Its owner has closed it."""
        return bool(self._words[CLOSED_AT // 8])

    def publish(self, head: FrameHead, pixels: Pixels) -> None:
        """Copy a picture of (height, width, 4) into the next slot."""
        height, width = pixels.shape[:2]
        if height * width > self.max_pixels or len(head.tiles) > MAX_TILES:
            size = f"{width}×{height} with {len(head.tiles)} tiles"
            raise RingRefused(f"a frame of {size} does not fit the ring's {self.max_pixels} pixels, {MAX_TILES} tiles")
        number = self._published + 1
        start = self._geometry.slot_at(number)
        sequence = start // 8
        self._words[sequence] += 1
        self._write_head(start, number, head, width, height)
        first = start + SLOT_HEAD_BYTES
        self._bytes[first : first + height * width * 4] = pixels.reshape(-1)
        self._words[sequence] += 1
        self._words[PUBLISHED_AT // 8] = number
        self._published = number

    def _write_head(self, start: int, number: int, head: FrameHead, width: int, height: int) -> None:
        sizes = (width, height, head.columns, head.rows, len(head.tiles))
        mode = int(head.grid) + (EVALUATION if head.evaluation else 0)
        values = (number, time.monotonic(), head.global_step, head.steps_per_s, *sizes, mode)
        SLOT.pack_into(self._map, start, int(self._words[start // 8]), *values, padded(head.line, LINE_BYTES))
        table = packed_tiles(head.tiles)
        self._bytes[start + TILES_AT : start + TILES_AT + table.nbytes] = table
        self._map[start + ABOUT_AT : start + ABOUT_AT + ABOUT_BYTES] = padded(head.about, ABOUT_BYTES)

    def note(self, text: str) -> None:
        """Say why there is no picture."""
        self._map[NOTE_AT : NOTE_AT + NOTE_BYTES] = padded(text, NOTE_BYTES)

    def say_fps(self, fps: float) -> None:
        """Say at which rate frames are asked for."""
        struct.pack_into("<d", self._map, FPS_AT, fps)

    def close(self) -> None:
        """Tell the readers and remove the file; their maps stay valid until they let go."""
        if self._owned:
            self._words[CLOSED_AT // 8] = 1
            self.path.unlink(missing_ok=True)
        del self._bytes, self._words
        # A view whose render() never came back may still hold a part of it; the process's end frees that.
        with contextlib.suppress(BufferError):
            self._map.close()
        os.close(self._descriptor)


class RingReader:
    """Maps a ring read-only; any number of readers, none of which the writer knows or waits for."""

    def __init__(self, path: Path) -> None:
        descriptor, self._geometry = _open(path, os.O_RDONLY)
        self._map = mmap.mmap(descriptor, self._geometry.file_bytes, prot=mmap.PROT_READ)
        os.close(descriptor)
        self._bytes = np.frombuffer(self._map, dtype=np.uint8)
        self._words = self._bytes.view("<u8")

    @property
    def published(self) -> int:
        """Number of the newest frame."""
        return int(self._words[PUBLISHED_AT // 8])

    @property
    def closed(self) -> bool:
        return bool(self._words[CLOSED_AT // 8])

    @property
    def note(self) -> str:
        return unpadded(self._map[NOTE_AT : NOTE_AT + NOTE_BYTES])

    @property
    def fps(self) -> float:
        return struct.unpack_from("<d", self._map, FPS_AT)[0]

    def newest(self, after: int = 0) -> Frame | None:
        """The newest whole frame, or None if there is none after `after`."""
        return self._newest(after, copy=True)

    def peek(self, after: int = 0) -> Frame | None:
        """`newest` without the copy: its pixels lie in the ring, and are to be trusted if `holds` says so after use."""
        return self._newest(after, copy=False)

    def holds(self, frame: Frame) -> bool:
        """Whether the slot of a frame that was peeked at is still the same."""
        slot = self._geometry.slot_at(frame.number) // 8
        return not int(self._words[slot]) % 2 and int(self._words[slot + 1]) == frame.number

    def _newest(self, after: int, *, copy: bool) -> Frame | None:
        for _ in range(MAX_RETRIES):
            number = self.published
            if number <= after:
                return None
            frame = self._read(number, copy=copy)
            if frame is not None:
                return frame
        return None

    def _read(self, number: int, *, copy: bool) -> Frame | None:
        start = self._geometry.slot_at(number)
        before = int(self._words[start // 8])
        if before % 2:
            return None
        values = SLOT.unpack_from(self._map, start)
        width, height, columns, rows, tiles, mode = values[5:11]
        if width * height > self._geometry.max_pixels or tiles > MAX_TILES:
            return None
        table = self._map[start + TILES_AT : start + TILES_AT + tiles * TILE.itemsize]
        first = start + SLOT_HEAD_BYTES
        pixels = self._bytes[first : first + width * height * 4].reshape(height, width, 4)
        pixels = pixels.copy() if copy else pixels
        about = unpadded(self._map[start + ABOUT_AT : start + ABOUT_AT + ABOUT_BYTES])
        if int(self._words[start // 8]) != before or values[1] != number:
            return None
        head = FrameHead(
            global_step=values[3],
            steps_per_s=values[4],
            columns=columns,
            rows=rows,
            tiles=unpacked_tiles(table),
            grid=bool(mode % EVALUATION),
            evaluation=mode >= EVALUATION,
            line=unpadded(values[11]),
            about=about,
        )
        return Frame(number, values[2], head, pixels)

    def close(self) -> None:
        del self._bytes, self._words
        # Who still has a frame that was peeked at keeps the map until it lets go.
        with contextlib.suppress(BufferError):
            self._map.close()


def _open(path: Path, how: int) -> tuple[int, Geometry]:
    try:
        descriptor = os.open(path, how | os.O_CLOEXEC)
    except OSError as error:
        raise RingRefused(f"{path} cannot be opened: {error.strerror}; the run may have ended") from error
    try:
        header = os.pread(descriptor, HEADER.size, 0)
        return descriptor, checked_header(path, header, os.fstat(descriptor).st_size)
    except RingRefused:
        os.close(descriptor)
        raise


def _create(size: int) -> tuple[Path, int]:
    """A locked file of this size, in the first folder that has room; OSError of the last one if none has."""
    name = f"mosaic-{os.getuid()}-{secrets.token_hex(12)}.ring"
    problem: OSError | None = None
    for folder in folders():
        path = folder / name
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            problem = error
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Reserved now: a full /dev/shm is an error here, not a SIGBUS in the middle of the training.
            operating_system.reserve(descriptor, size)
            return path, descriptor
        except OSError as error:
            os.close(descriptor)
            path.unlink(missing_ok=True)
            problem = error
            if error.errno not in _NO_ROOM:
                raise
    assert problem is not None
    raise problem
