"""`mosaic watch RUN`: a living run's environments in the terminal, two pixels a character."""

import shutil
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mosaic.cli import INTERRUPTED
from mosaic.cli.pick import pick
from mosaic.cli.reach import BadArguments, connect, parser
from mosaic.cli.screen import fit, is_terminal
from mosaic.cli.sight import Sight, add_flags, caption, sights, wishes_of

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
HOME, CLEAR, RESET = "\x1b[H", "\x1b[2J", "\x1b[0m"
UPPER_HALF = "▀"


def main(argv: Sequence[str]) -> int:
    words = parser(
        "watch", "Show a living run's environments in the terminal; Ctrl-C leaves the run alone.", runs="RUN"
    )
    add_flags(words, fps=15, tile_width=160)
    words.add_argument("--once", action="store_true", help="print one frame and return")
    flags = words.parse_args(argv)
    wishes = wishes_of(words, flags)
    if not flags.once and not is_terminal():
        raise BadArguments("'mosaic watch' needs a terminal; 'mosaic frame RUN OUT.png' saves a picture")
    with connect() as client:
        run = pick(client, flags.run)
        with sights(client, run, wishes) as coming:
            if flags.once:
                return _once(coming)
            try:
                _show(coming)
            except KeyboardInterrupt:
                return INTERRUPTED
            finally:
                sys.stdout.write(f"{RESET}{SHOW_CURSOR}\n")
    print(f"run {run.run_id} has ended")
    return 0


def _once(coming: Iterator[Sight | None]) -> int:
    for sight in coming:
        if sight is not None:
            columns, rows = shutil.get_terminal_size((80, 24))
            print("\n".join(drawn(sight.pixels, columns, rows - 2)))
            print(caption(sight.head))
            return 0
    return 1


def _show(coming: Iterator[Sight | None]) -> None:
    size = (0, 0)
    sys.stdout.write(HIDE_CURSOR)
    for sight in coming:
        if sight is None:
            continue
        terminal = shutil.get_terminal_size((80, 24))
        # Drawn over itself, without a flicker; a terminal of another size begins anew.
        start = HOME if terminal == size else CLEAR + HOME
        size = terminal
        lines = [*drawn(sight.pixels, terminal.columns, terminal.lines - 1), fit(caption(sight.head), terminal.columns)]
        sys.stdout.write(start + "\x1b[K\n".join(lines) + "\x1b[K\x1b[J")
        sys.stdout.flush()


def drawn(pixels: NDArray[np.uint8], columns: int, rows: int) -> list[str]:
    """Lines of half blocks: the upper pixel in the text's colour, the lower one in the background's."""
    height, width = pixels.shape[:2]
    scale = min(columns / width, 2 * max(rows, 1) / height, 1.0)
    wide, high = max(1, int(width * scale)), max(2, int(height * scale) // 2 * 2)
    small = _averaged(pixels, high, wide)
    lines: list[str] = []
    for upper, lower in zip(small[::2].tolist(), small[1::2].tolist(), strict=True):
        text, last = "", None
        for colours in zip(upper, lower, strict=True):
            if colours != last:
                (r, g, b), (x, y, z) = last = colours
                text += f"\x1b[38;2;{r};{g};{b};48;2;{x};{y};{z}m"
            text += UPPER_HALF
        lines.append(text + RESET)
    return lines


def _averaged(pixels: NDArray[np.uint8], high: int, wide: int) -> NDArray[np.uint8]:
    """Scaled down so that thin lines stay visible."""
    from PIL import Image

    return np.asarray(Image.fromarray(pixels).resize((wide, high), Image.Resampling.BOX))
