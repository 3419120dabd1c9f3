"""The ring: one writer, any number of read-only readers, the newest frame wins, the writer never waits.

A plain file (under /dev/shm where there is one), mode 0600, random name, mapped by all. Little endian throughout.

Header, 4096 bytes
    0    8s    magic "MOSAICFL"
    8    u32   version (1)
    12   u32   number of slots
    16   u32   bytes of a slot: its head and its pixels, a multiple of 4096
    20   u32   pixel format: 1 is BGRX, 4 bytes a pixel
    24   u32   most pixels of a frame
    28   u32   pid of the writer
    32   u64   published: number of the newest complete frame, from 1 on; 0 is none yet
    40   u64   1 once the writer has closed the ring
    48   256s  note: why there is no picture, UTF-8, zero padded

Slot, at 4096 + (frame % slots) * slot bytes; frame n lies in slot n % slots
    0    u64   sequence: odd while it is written
    8    u64   frame number
    16   f64   CLOCK_MONOTONIC at publication, seconds
    24   u64   global step
    32   f64   steps a second
    40   u32   width, 44 u32 height: of the whole picture, in pixels
    48   u32   columns, 52 u32 rows: of the grid
    56   u32   tiles: how many of its places are used
    60   u32   mode: 0 single, 1 grid; +256 for an evaluation
    64   160s  line for the HUD (last batch of an evaluation), UTF-8, zero padded
    224  64 × (u32 env, u32 episode length, f64 episode return): of each tile
    4096 pixels, rows from the top, BGRX

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

import mmap
import os
import secrets
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mosaic.errors import MosaicError

MAGIC = b"MOSAICFL"
VERSION = 1
BGRX = 1
HEADER_BYTES = 4096
SLOT_HEAD_BYTES = 4096
SLOTS = 3
MAX_PIXELS = 1280 * 960
MAX_TILES = 64
NOTE_AT, NOTE_BYTES = 48, 256
LINE_BYTES = 160
PUBLISHED_AT, CLOSED_AT = 32, 40
EVALUATION = 256
MAX_RETRIES = 1000

_HEADER = struct.Struct("<8s6I2Q")
_SLOT = struct.Struct("<QQdQd6I160s")
_TILES_AT = 224
_TILE = np.dtype([("env", "<u4"), ("length", "<u4"), ("return", "<f8")])

Pixels = NDArray[np.uint8]


class RingRefused(MosaicError):
    """The file is no ring of this version, or damaged."""


@dataclass(frozen=True)
class Tile:
    """What one tile shows."""

    env: int
    episode_length: int
    episode_return: float


@dataclass(frozen=True, kw_only=True)
class FrameHead:
    """What belongs to a frame beside its pixels."""

    global_step: int
    steps_per_s: float
    columns: int
    rows: int
    tiles: tuple[Tile, ...]
    grid: bool
    evaluation: bool = False
    line: str = ""


@dataclass(frozen=True)
class Frame:
    """One whole frame; `pixels` is a copy, (height, width, 4) BGRX."""

    number: int
    published_at: float
    """CLOCK_MONOTONIC, seconds."""
    head: FrameHead
    pixels: Pixels


def folder() -> Path:
    """Shared memory where there is some, else the temporary folder."""
    shared = Path("/dev/shm")
    return shared if shared.is_dir() and os.access(shared, os.W_OK) else Path(os.environ.get("TMPDIR", "/tmp"))


class RingWriter:
    """Creates the ring and publishes frames; `close` removes it."""

    def __init__(self, *, max_pixels: int = MAX_PIXELS, slots: int = SLOTS) -> None:
        pixel_bytes = (max_pixels * 4 + 4095) // 4096 * 4096
        self._slot_bytes = SLOT_HEAD_BYTES + pixel_bytes
        self._slots = slots
        self.max_pixels = max_pixels
        self.path = folder() / f"mosaic-{os.getuid()}-{secrets.token_hex(12)}.ring"
        size = HEADER_BYTES + slots * self._slot_bytes
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            # Reserved now: a full /dev/shm is an error here, not a SIGBUS in the middle of the training.
            os.posix_fallocate(descriptor, 0, size)
            self._map = mmap.mmap(descriptor, size)
        except OSError:
            self.path.unlink()
            raise
        finally:
            os.close(descriptor)
        self._bytes = np.frombuffer(self._map, dtype=np.uint8)
        self._words = self._bytes.view("<u8")
        _HEADER.pack_into(self._map, 0, MAGIC, VERSION, slots, self._slot_bytes, BGRX, max_pixels, os.getpid(), 0, 0)
        self._published = 0

    def publish(self, head: FrameHead, pixels: Pixels) -> None:
        """Copy a picture of (height, width, 4) into the next slot."""
        height, width = pixels.shape[:2]
        if height * width > self.max_pixels:
            raise RingRefused(f"a frame of {width}×{height} does not fit the ring's {self.max_pixels} pixels")
        number = self._published + 1
        start = HEADER_BYTES + number % self._slots * self._slot_bytes
        sequence = start // 8
        self._words[sequence] += 1
        self._write_head(start, number, head, width, height)
        first = start + SLOT_HEAD_BYTES
        self._bytes[first : first + height * width * 4] = pixels.reshape(-1)
        self._words[sequence] += 1
        self._words[PUBLISHED_AT // 8] = number
        self._published = number

    def _write_head(self, start: int, number: int, head: FrameHead, width: int, height: int) -> None:
        mode = int(head.grid) + (EVALUATION if head.evaluation else 0)
        _SLOT.pack_into(
            self._map,
            start,
            int(self._words[start // 8]),
            number,
            time.monotonic(),
            head.global_step,
            head.steps_per_s,
            width,
            height,
            head.columns,
            head.rows,
            len(head.tiles),
            mode,
            _padded(head.line, LINE_BYTES),
        )
        table = np.array([(t.env, t.episode_length, t.episode_return) for t in head.tiles], dtype=_TILE)
        self._bytes[start + _TILES_AT : start + _TILES_AT + table.nbytes] = table.view(np.uint8)

    def note(self, text: str) -> None:
        """Say why there is no picture."""
        self._map[NOTE_AT : NOTE_AT + NOTE_BYTES] = _padded(text, NOTE_BYTES)

    def close(self) -> None:
        """Tell the readers and remove the file; their maps stay valid until they let go."""
        self._words[CLOSED_AT // 8] = 1
        del self._bytes, self._words
        self._map.close()
        self.path.unlink(missing_ok=True)


class RingReader:
    """Maps a ring read-only; any number of readers, none of which the writer knows or waits for."""

    def __init__(self, path: Path) -> None:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise RingRefused(f"{path} cannot be opened: {error.strerror}; the run may have ended") from error
        try:
            size = os.fstat(descriptor).st_size
            self._slots, self._slot_bytes, self._max_pixels = _checked_header(path, os.pread(descriptor, 48, 0), size)
            self._map = mmap.mmap(descriptor, size, prot=mmap.PROT_READ)
        finally:
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
        return _unpadded(self._map[NOTE_AT : NOTE_AT + NOTE_BYTES])

    def newest(self, after: int = 0) -> Frame | None:
        """The newest whole frame, or None if there is none after `after`."""
        for _ in range(MAX_RETRIES):
            number = self.published
            if number <= after:
                return None
            frame = self._read(number)
            if frame is not None:
                return frame
        return None

    def _read(self, number: int) -> Frame | None:
        start = HEADER_BYTES + number % self._slots * self._slot_bytes
        before = int(self._words[start // 8])
        if before % 2:
            return None
        raw = bytes(self._map[start : start + _TILES_AT])
        values = _SLOT.unpack_from(raw)
        width, height, columns, rows, tiles, mode = values[5:11]
        if width * height > self._max_pixels or tiles > MAX_TILES:
            return None
        table = np.frombuffer(
            self._bytes[start + _TILES_AT : start + _TILES_AT + tiles * _TILE.itemsize].tobytes(), _TILE
        )
        first = start + SLOT_HEAD_BYTES
        pixels = self._bytes[first : first + width * height * 4].reshape(height, width, 4).copy()
        if int(self._words[start // 8]) != before or values[1] != number:
            return None
        head = FrameHead(
            global_step=values[3],
            steps_per_s=values[4],
            columns=columns,
            rows=rows,
            tiles=tuple(Tile(int(t["env"]), int(t["length"]), float(t["return"])) for t in table),
            grid=bool(mode % EVALUATION),
            evaluation=mode >= EVALUATION,
            line=_unpadded(values[11]),
        )
        return Frame(number, values[2], head, pixels)

    def close(self) -> None:
        del self._bytes, self._words
        self._map.close()


def _checked_header(path: Path, raw: bytes, size: int) -> tuple[int, int, int]:
    """Slots, bytes of a slot and most pixels, checked against each other and the file before anything is mapped."""
    if len(raw) < _HEADER.size:
        raise RingRefused(f"{path} is too short for a ring")
    fields: tuple[Any, ...] = _HEADER.unpack_from(raw)
    magic, version, slots, slot_bytes, pixel_format, max_pixels, _, _, _ = fields
    if magic != MAGIC:
        raise RingRefused(f"{path} is not a FastLane ring")
    if version != VERSION:
        raise RingRefused(f"{path} has ring version {version}, this reader knows {VERSION}")
    if pixel_format != BGRX:
        raise RingRefused(f"{path} has pixel format {pixel_format}, this reader knows {BGRX} (BGRX)")
    fits = slot_bytes % 4096 == 0 and SLOT_HEAD_BYTES + 4 * max_pixels <= slot_bytes
    if not 2 <= slots <= 16 or not fits or HEADER_BYTES + slots * slot_bytes != size:
        raise RingRefused(f"{path} has a geometry that does not fit its size of {size} bytes")
    return slots, slot_bytes, max_pixels


def _padded(text: str, size: int) -> bytes:
    # Cut between characters, not inside one.
    return text.encode()[: size - 1].decode(errors="ignore").encode().ljust(size, b"\0")


def _unpadded(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode(errors="replace")
