"""`mosaic clip RUN OUT.mp4`: a film of a living run's environments."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from mosaic.cli.daemon.connection import BadArguments, connect, parser
from mosaic.cli.live.run_frames import NothingToSee, RunFrames, add_flags, frames_of, wishes_of
from mosaic.cli.runs.run_by_name import pick
from mosaic.cli.terminal.printing import note
from mosaic.errors import HomeUnusable
from mosaic.fastlane.video_file import VideoFile
from mosaic.rpc.find_run import LIVING

TIMEOUT_S = 20.0


def main(argv: Sequence[str]) -> int:
    words = parser("clip", "Film a living run's environments.", runs="RUN")
    words.add_argument("out", type=Path, metavar="OUT.mp4", help="file to write")
    words.add_argument("--seconds", type=float, default=10.0, help="how long (default 10)")
    add_flags(words, fps=30, tile_width=480)
    flags = words.parse_args(argv)
    wishes = wishes_of(flags)
    if flags.out.suffix.lower() != ".mp4":
        raise BadArguments(f"'{flags.out}' does not end in .mp4")
    if not 0 < flags.seconds <= 3600:
        words.error(f"--seconds: must be between 0 and 3600 (got {flags.seconds:g})")
    with connect() as client:
        run = pick(client, flags.run, LIVING)
        with frames_of(client, run, wishes) as coming:
            try:
                frames, filmed_s = _film(coming, flags.out, fps=round(flags.fps) or 1, seconds=flags.seconds)
            except OSError as error:
                raise HomeUnusable(f"{flags.out} could not be written: {error}") from error
    if not frames:
        raise NothingToSee(f"no frame of run {run.run_id} within {TIMEOUT_S:.0f} s; 'mosaic show' tells its state")
    if filmed_s < flags.seconds - 1:
        note(f"the run ended after {filmed_s:.1f} s")
    print(f"{flags.out}: {filmed_s:.1f} s, {frames} frames")
    return 0


def _film(coming: Iterator[RunFrames | None], out: Path, *, fps: int, seconds: float) -> tuple[int, float]:
    """Each frame is shown from the moment at which it came until the next one; frames, and how long they take."""
    film: VideoFile | None = None
    began, patience_ends = 0.0, time.monotonic() + TIMEOUT_S
    frames, elapsed_s = 0, 0.0
    try:
        for run_frames in coming:
            now = time.monotonic()
            elapsed_s = now - began if film else 0.0
            if now > patience_ends if film is None else elapsed_s >= seconds:
                break
            if run_frames is not None and film is None:
                film, began = VideoFile(out, fps=fps), now
            if run_frames is not None and film is not None:
                frames += film.add(run_frames.pixels, at_s=elapsed_s)
    finally:
        if film is not None:
            film.close()
    return frames, min(elapsed_s, seconds)
