"""`mosaic frame RUN OUT.png`: one picture of a living run's environments."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from mosaic.cli.daemon.connection import BadArguments, connect, parser
from mosaic.cli.live.run_frames import NothingToSee, RunFrames, add_flags, caption, frames_of, is_complete, wishes_of
from mosaic.cli.runs.run_by_name import pick
from mosaic.errors import HomeUnusable
from mosaic.rpc.find_run import LIVING

FORMATS = (".png", ".jpg", ".jpeg", ".webp")
TIMEOUT_S = 20.0
FILL_S = 10.0
"""After the first frame, at most so long for the other tiles of a grid."""


def main(argv: Sequence[str]) -> int:
    words = parser("frame", "Save one picture of a living run's environments.", runs="RUN")
    words.add_argument("out", type=Path, metavar="OUT", help=f"file to write: {', '.join(FORMATS)}")
    add_flags(words, fps=10, tile_width=640)
    flags = words.parse_args(argv)
    wishes = wishes_of(flags)
    if flags.out.suffix.lower() not in FORMATS:
        raise BadArguments(f"'{flags.out}' is not a picture file that can be written; use one of {', '.join(FORMATS)}")
    with connect() as client:
        run = pick(client, flags.run, LIVING)
        with frames_of(client, run, wishes) as coming:
            run_frames = _first_whole(coming)
    if run_frames is None:
        raise NothingToSee(f"no frame of run {run.run_id} within {TIMEOUT_S:.0f} s; 'mosaic show' tells its state")
    _save(run_frames, flags.out)
    height, width = run_frames.pixels.shape[:2]
    print(f"{flags.out}: {width}×{height}, {caption(run_frames.head)}")
    return 0


def _first_whole(coming: Iterator[RunFrames | None]) -> RunFrames | None:
    began, newest, first_at = time.monotonic(), None, 0.0
    for run_frames in coming:
        now = time.monotonic()
        if run_frames is not None:
            newest, first_at = run_frames, first_at or now
            if is_complete(run_frames.head):
                break
        if now - began > TIMEOUT_S or (newest is not None and now - first_at > FILL_S):
            break
    return newest


def _save(run_frames: RunFrames, out: Path) -> None:
    from PIL import Image

    try:
        Image.fromarray(run_frames.pixels).save(out)
    except OSError as error:
        raise HomeUnusable(f"{out} could not be written: {error}") from error
