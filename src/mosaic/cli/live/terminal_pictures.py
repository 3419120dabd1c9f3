"""Pictures in a terminal: by kitty's protocol or as sixels where the terminal has them, else two pixels a character."""

import base64
import fcntl
import os
import re
import select
import struct
import sys
import termios
import time
import tty
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Pixels: TypeAlias = NDArray[np.uint8]
Way: TypeAlias = Literal["kitty", "sixel", "blocks"]
WAYS: tuple[Way, ...] = ("kitty", "sixel", "blocks")
ANSWER_S = 0.3
"""A terminal answers at once; over ssh within this."""
CELL = (8, 16)
"""Pixels of a character where the terminal does not tell."""
COLOURS = 32
KITTY_CHUNK = 4096
UPPER_HALF, RESET = "▀", "\x1b[0m"
# One question for both: whether a kitty picture of one pixel would be shown, and what kind of terminal this is (sixel
# is feature 4). Every terminal answers the second, so there is no wait for an answer to the first.
_QUESTION = b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c"
_FEATURES = re.compile(rb"\x1b\[\?([0-9;]*)c")


@dataclass(frozen=True)
class Canvas:
    """Room for a picture."""

    columns: int
    rows: int
    cell: tuple[int, int] = CELL
    """Pixels of a character, across and down."""

    def fit(self, width: int, height: int, *, grow: float = 1.0) -> tuple[int, int]:
        """The largest size of this shape that fits, in pixels of the terminal; at most `grow` times as large."""
        scale = min(self.columns * self.cell[0] / width, self.rows * self.cell[1] / height, grow)
        return max(1, int(width * scale)), max(1, int(height * scale))


def can(answer: bytes) -> Way:
    """What a terminal that gave this answer can show."""
    if b"\x1b_Gi=31;OK" in answer:
        return "kitty"
    features = _FEATURES.search(answer)
    return "sixel" if features and b"4" in features.group(1).split(b";") else "blocks"


def ask() -> Way:
    """Ask the terminal what it can show."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return "blocks"
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal, termios.TCSANOW)
        os.write(terminal, _QUESTION)
        answer, end = b"", time.monotonic() + ANSWER_S
        while not _FEATURES.search(answer) and select.select([terminal], [], [], max(0, end - time.monotonic()))[0]:
            answer += os.read(terminal, 4096)
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
        os.close(terminal)
    return can(answer)


def canvas(rows_left_out: int) -> Canvas:
    """The terminal, but for some rows at its end."""
    size = os.get_terminal_size(sys.stdout.fileno()) if sys.stdout.isatty() else os.terminal_size((80, 24))
    wide = high = 0
    if sys.stdout.isatty():
        _, _, wide, high = struct.unpack("HHHH", fcntl.ioctl(sys.stdout.fileno(), termios.TIOCGWINSZ, bytes(8)))
    cell = (wide // size.columns, high // size.lines) if wide and high else CELL
    return Canvas(size.columns, max(1, size.lines - rows_left_out), cell)


def blocks(pixels: Pixels, room: Canvas) -> str:
    """Lines of half blocks: the upper pixel in the text's colour, the lower one in the background's."""
    height, width = pixels.shape[:2]
    wide, high = Canvas(room.columns, room.rows, (1, 2)).fit(width, height)
    small = _scaled(pixels, wide, max(2, high // 2 * 2))
    lines: list[str] = []
    for upper, lower in zip(small[::2].tolist(), small[1::2].tolist(), strict=True):
        text, last = "", None
        for colours in zip(upper, lower, strict=True):
            if colours != last:
                (r, g, b), (x, y, z) = last = colours
                text += f"\x1b[38;2;{r};{g};{b};48;2;{x};{y};{z}m"
            text += UPPER_HALF
        lines.append(text + RESET)
    return "\x1b[K\n".join(lines) + "\x1b[K\n"


def kitty(pixels: Pixels, room: Canvas) -> str:
    """The picture as kitty's graphics protocol takes it: raw and deflated, in pieces; the same number replaces it."""
    height, width = pixels.shape[:2]
    wide, high = room.fit(width, height, grow=2.0)
    columns, rows = -(-wide // room.cell[0]), -(-high // room.cell[1])
    data = base64.standard_b64encode(zlib.compress(np.ascontiguousarray(pixels).tobytes(), 1)).decode()
    pieces = [data[at : at + KITTY_CHUNK] for at in range(0, len(data), KITTY_CHUNK)]
    text = ""
    for place, piece in enumerate(pieces):
        more = int(place < len(pieces) - 1)
        head = f"a=T,i=1,q=2,f=24,o=z,s={width},v={height},c={columns},r={rows},C=1," if place == 0 else ""
        text += f"\x1b_G{head}m={more};{piece}\x1b\\"
    return text + "\x1b[K\n" * rows


def sixel(pixels: Pixels, room: Canvas) -> str:
    """The picture in sixels: columns of six pixels, one colour after another over each other."""
    from PIL import Image

    height, width = pixels.shape[:2]
    wide, high = room.fit(width, height)
    # A whole last band: what is drawn below the picture would scroll the terminal.
    small = Image.fromarray(_scaled(pixels, wide, max(6, high // 6 * 6))).quantize(COLOURS)
    palette = np.array(small.getpalette(), dtype=np.float64).reshape(-1, 3)[:COLOURS] * 100 / 255
    indices = np.asarray(small)
    text = [f'\x1bPq"1;1;{indices.shape[1]};{indices.shape[0]}']
    text += [f"#{place};2;{r:.0f};{g:.0f};{b:.0f}" for place, (r, g, b) in enumerate(palette)]
    weights = (1 << np.arange(6, dtype=np.uint8))[:, None]
    for top in range(0, indices.shape[0], 6):
        band = indices[top : top + 6]
        for colour in np.unique(band).tolist():
            text.append(f"#{colour}{_run_lengths(((band == colour) * weights).sum(axis=0) + 63)}$")
        text.append("-")
    return "".join(text) + "\x1b\\"


def _run_lengths(codes: NDArray[np.int64]) -> str:
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    lengths = np.diff(starts, append=len(codes))
    pairs = zip(codes[starts].tolist(), lengths.tolist(), strict=True)
    return "".join(chr(code) * length if length < 4 else f"!{length}{chr(code)}" for code, length in pairs)


def _scaled(pixels: Pixels, wide: int, high: int) -> Pixels:
    """Averaged, so that thin lines stay visible."""
    from PIL import Image

    return np.asarray(Image.fromarray(pixels).resize((wide, high), Image.Resampling.BOX))


DRAW: Mapping[Way, Callable[[Pixels, Canvas], str]] = {"kitty": kitty, "sixel": sixel, "blocks": blocks}
