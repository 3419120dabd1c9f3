"""`mosaic watch RUN`: a living run's environments in the terminal."""

import sys
from collections.abc import Iterator, Sequence

from mosaic.cli import INTERRUPTED
from mosaic.cli.daemon.connection import BadArguments, connect, parser
from mosaic.cli.live.run_frames import RunFrames, add_flags, caption, frames_of, wishes_of
from mosaic.cli.live.terminal_pictures import DRAW, WAYS, Canvas, Way, ask, canvas
from mosaic.cli.runs.run_by_name import pick
from mosaic.cli.terminal.plain_output import ESC, draw
from mosaic.cli.terminal.printing import fit, is_terminal
from mosaic.rpc.find_run import LIVING

HIDE_CURSOR, SHOW_CURSOR = f"{ESC}[?25l", f"{ESC}[?25h"
HOME, CLEAR, RESET = f"{ESC}[H", f"{ESC}[2J", f"{ESC}[0m"


def main(argv: Sequence[str]) -> int:
    words = parser(
        "watch", "Show a living run's environments in the terminal; Ctrl-C leaves the run alone.", runs="RUN"
    )
    add_flags(words, fps=15, tile_width=320)
    words.add_argument("--once", action="store_true", help="print one frame and return")
    words.add_argument(
        "--graphics", choices=("auto", *WAYS), default="auto", help="how to draw (default: what the terminal can)"
    )
    flags = words.parse_args(argv)
    wishes = wishes_of(flags)
    if not flags.once and not is_terminal():
        raise BadArguments("'mosaic watch' needs a terminal; 'mosaic frame RUN OUT.png' saves a picture")
    way: Way = flags.graphics if flags.graphics != "auto" else ask() if is_terminal() else "blocks"
    with connect() as client:
        run = pick(client, flags.run, LIVING)
        with frames_of(client, run, wishes) as coming:
            if flags.once:
                return _once(coming, way)
            try:
                show(coming, way)
            except KeyboardInterrupt:
                return INTERRUPTED
            finally:
                sys.stdout.write(f"{RESET}{SHOW_CURSOR}\n")
    print(f"run {run.run_id} has ended")
    return 0


def _once(coming: Iterator[RunFrames | None], way: Way) -> int:
    for run_frames in coming:
        if run_frames is not None:
            draw(DRAW[way](run_frames.pixels, canvas(2)))
            print(caption(run_frames.head))
            return 0
    return 1


def show(coming: Iterator[RunFrames | None], way: Way) -> None:
    size = Canvas(0, 0)
    sys.stdout.write(HIDE_CURSOR)
    for run_frames in coming:
        if run_frames is None:
            continue
        room = canvas(2)
        # Drawn over itself, without a flicker; a terminal of another size begins anew.
        start = HOME if room == size else CLEAR + HOME
        size = room
        sys.stdout.write(start)
        draw(DRAW[way](run_frames.pixels, room))
        sys.stdout.write(f"{fit(caption(run_frames.head), room.columns)}{ESC}[K{ESC}[J")
        sys.stdout.flush()
