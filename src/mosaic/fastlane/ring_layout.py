"""The bytes of a ring, little endian throughout; `mosaic.fastlane.ring` has the steps that write and read them.

Header, 4096 bytes
    0    8s    magic "MOSAICFL"
    8    u32   version (1)
    12   u32   number of slots
    16   u32   bytes of a slot: its head and its pixels, a multiple of 4096
    20   u32   pixel format: 1 is BGRX, 4 bytes a pixel
    24   u32   most pixels of a frame
    28   u32   pid of the writer, for display; whether it lives is what the file's lock (flock) says
    32   u64   published: number of the newest complete frame, from 1 on; 0 is none yet
    40   u64   1 once the writer has closed the ring
    48   256s  note: why there is no picture, UTF-8, zero padded
    304  f64   pictures of each tile a second that the readers asked for; 0 while no viewer is connected

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
    1248 2848s where a reader asked what one environment observes and what the agent makes of it: JSON, likewise
    4096 pixels, rows from the top, BGRX
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mosaic.fastlane.ring_files import RingRefused

MAGIC = b"MOSAICFL"
VERSION = 1
BGRX = 1
PAGE = 4096
HEADER_BYTES = PAGE
SLOT_HEAD_BYTES = PAGE
MAX_SLOTS = 16
MAX_TILES = 64
PID_AT, PUBLISHED_AT, CLOSED_AT = 28, 32, 40
NOTE_AT, NOTE_BYTES = 48, 256
FPS_AT = 304
LINE_AT, LINE_BYTES = 64, 160
TILES_AT = 224
ABOUT_AT, ABOUT_BYTES = 1248, 2848
EVALUATION = 256

HEADER = struct.Struct("<8s6I2Q")
SLOT = struct.Struct("<QQdQd6I160s")
TILE = np.dtype([("env", "<u4"), ("length", "<u4"), ("return", "<f8")])

Pixels = NDArray[np.uint8]


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
    about: str = ""
    """JSON, as docs/protocols/fastlane.md has it; empty where no reader asked for it."""


@dataclass(frozen=True)
class Frame:
    """One whole frame; `pixels` are (height, width, 4) BGRX, a copy unless it was peeked at."""

    number: int
    published_at: float
    """CLOCK_MONOTONIC, seconds."""
    head: FrameHead
    pixels: Pixels


@dataclass(frozen=True)
class Geometry:
    """The sizes of one ring."""

    slots: int
    slot_bytes: int
    max_pixels: int

    @classmethod
    def of(cls, slots: int, max_pixels: int) -> "Geometry":
        pages = -(-max_pixels * 4 // PAGE)
        return cls(slots, SLOT_HEAD_BYTES + pages * PAGE, max_pixels)

    @property
    def file_bytes(self) -> int:
        return HEADER_BYTES + self.slots * self.slot_bytes

    def slot_at(self, number: int) -> int:
        """Where frame `number` lies."""
        return HEADER_BYTES + number % self.slots * self.slot_bytes


def checked_header(path: Path, raw: bytes, size: int) -> Geometry:
    """The sizes that a header states, checked against each other and the file before anything is mapped."""
    if len(raw) < HEADER.size:
        raise RingRefused(f"{path} is too short for a ring")
    fields: tuple[Any, ...] = HEADER.unpack_from(raw)
    magic, version, slots, slot_bytes, pixel_format, max_pixels = fields[:6]
    if magic != MAGIC:
        raise RingRefused(f"{path} is not a FastLane ring")
    if version != VERSION:
        raise RingRefused(f"{path} has ring version {version}, this reader knows {VERSION}")
    if pixel_format != BGRX:
        raise RingRefused(f"{path} has pixel format {pixel_format}, this reader knows {BGRX} (BGRX)")
    geometry = Geometry(slots, slot_bytes, max_pixels)
    fits = slot_bytes % PAGE == 0 and SLOT_HEAD_BYTES + 4 * max_pixels <= slot_bytes
    if not 2 <= slots <= MAX_SLOTS or not fits or geometry.file_bytes != size:
        raise RingRefused(f"{path} has a geometry that does not fit its size of {size} bytes")
    return geometry


def packed_tiles(tiles: tuple[Tile, ...]) -> NDArray[np.uint8]:
    table = np.array([(tile.env, tile.episode_length, tile.episode_return) for tile in tiles], dtype=TILE)
    return table.view(np.uint8)


def unpacked_tiles(raw: bytes) -> tuple[Tile, ...]:
    table = np.frombuffer(raw, TILE)
    return tuple(Tile(int(row["env"]), int(row["length"]), float(row["return"])) for row in table)


def padded(text: str, size: int) -> bytes:
    # Cut between characters, not inside one.
    return text.encode(errors="replace")[: size - 1].decode(errors="ignore").encode().ljust(size, b"\0")


def unpadded(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode(errors="replace")
