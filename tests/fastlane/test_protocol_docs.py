"""docs/protocols/fastlane.md says what the code does: every offset, and a reader that works."""

import re
import struct
from pathlib import Path
from typing import Any

import numpy as np

from mosaic.fastlane import ring_layout, viewer_lease
from mosaic.fastlane.ring import RingWriter
from mosaic.fastlane.ring_layout import FrameHead, Tile
from mosaic.fastlane.viewer_lease import Wishes

PAGE = Path(__file__).parents[2] / "docs" / "protocols" / "fastlane.md"
TEXT = PAGE.read_text(encoding="utf-8")
LETTERS = {"u32": "I", "u64": "Q", "f64": "d", "8 bytes": "8s", "160 bytes": "160s"}


def rows(heading: str) -> list[list[str]]:
    part = TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")][2:]
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]


def compiled(table: list[list[str]]) -> str:
    """The struct that the leading rows of a table describe, each at the offset that it states."""
    offset = 0
    for stated, kind, *_ in table:
        assert int(stated) == offset
        offset += struct.calcsize("<" + LETTERS[kind])
    return "<" + "".join(LETTERS[kind] for _, kind, *_ in table)


def spelled_out(made: struct.Struct) -> str:
    """`6I` as `IIIIII`; `160s` is one string."""
    return re.sub(r"(\d+)([IQd])", lambda match: int(match[1]) * match[2], made.format)


def test_the_header_is_as_documented() -> None:
    table = rows("The header")
    assert compiled(table[:9]) == spelled_out(ring_layout.HEADER)
    offsets = {name: int(offset) for offset, _, name, *_ in table}
    assert offsets["published"] == ring_layout.PUBLISHED_AT
    assert offsets["closed"] == ring_layout.CLOSED_AT
    assert offsets["pid"] == ring_layout.PID_AT
    assert (offsets["note"], offsets["fps"]) == (ring_layout.NOTE_AT, ring_layout.FPS_AT)
    assert table[9][1] == f"{ring_layout.NOTE_BYTES} bytes"
    assert ring_layout.NOTE_AT + ring_layout.NOTE_BYTES == ring_layout.FPS_AT


def test_a_slot_is_as_documented() -> None:
    table = rows("A slot")
    assert compiled(table[:12]) == spelled_out(ring_layout.SLOT)
    offsets = {name: int(offset) for offset, _, name, *_ in table}
    assert (offsets["line"], offsets["tile"]) == (ring_layout.LINE_AT, ring_layout.TILES_AT)
    assert offsets["pixels"] == ring_layout.SLOT_HEAD_BYTES
    assert table[12][1] == f"{ring_layout.MAX_TILES} × {ring_layout.TILE.itemsize} bytes"
    assert ring_layout.TILES_AT + ring_layout.MAX_TILES * ring_layout.TILE.itemsize <= ring_layout.SLOT_HEAD_BYTES


def test_a_lease_is_as_documented() -> None:
    names = [name for name, _ in rows("Leases")]
    assert sorted(names) == sorted(["at", "changed", *vars(Wishes())])
    assert f"for {viewer_lease.VALID_S:g} s" in TEXT
    assert f"{viewer_lease.MIN_FPS:g} to {viewer_lease.MAX_FPS:g}" in TEXT
    assert f"{viewer_lease.MIN_TILE_WIDTH} to {viewer_lease.MAX_TILE_WIDTH}" in TEXT


def test_the_module_documents_the_same_offsets() -> None:
    assert ring_layout.__doc__ is not None
    stated = re.findall(r"(?m)^    (\d+) +\S+ ", ring_layout.__doc__)
    for offset, *_ in rows("The header"):
        assert offset in stated


def test_the_reader_in_the_page_reads_a_frame() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    ring = RingWriter.create(max_pixels=100)
    picture = np.arange(5 * 7 * 4, dtype=np.uint8).reshape(5, 7, 4)
    tiles = (Tile(0, 1, 1.0),)
    ring.publish(FrameHead(global_step=1, steps_per_s=1.0, columns=1, rows=1, tiles=tiles, grid=True), picture)
    with ring.path.open("rb") as opened:
        # The page leaves closing the file to the end of the process.
        found: dict[str, Any] = {"opened": opened}
        exec(code.replace('open(path, "rb").fileno()', "opened.fileno()"), found)
    assert (found["width"], found["height"]) == (7, 5)
    assert found["pixels"] == picture.tobytes()
    ring.close()
