"""Frames of a run for the verbs that show them: from its ring on this machine, else through the daemon."""

import io
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mosaic.cli.daemon.connection import Parser, current
from mosaic.cli.runs.run_by_name import shown_id
from mosaic.errors import MosaicError
from mosaic.fastlane.ring_layout import FrameHead
from mosaic.fastlane.viewer import Viewer
from mosaic.fastlane.viewer_lease import Wishes
from mosaic.rpc.client import Client
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL

WAIT_S = 0.5
REMOTE_QUALITY = 90


class NothingToSee(MosaicError):
    """No frame came."""


class Ended(NothingToSee):
    """The run is over, and its frames with it."""

    exit_code = 2

    def __init__(self, run: RunRecord) -> None:
        name = shown_id(run.run_id)
        instead = (
            f"'mosaic replay {name} --video OUT.mp4' films what it recorded"
            if run.kind == "play"
            else f"'mosaic evaluate {name} --video' films what it learnt"
        )
        super().__init__(f"run {run.run_id} is {run.state}: only a run that goes on has live frames; {instead}")


@dataclass(frozen=True)
class RunFrames:
    """One frame; `pixels` are (height, width, 3) RGB."""

    head: FrameHead
    pixels: NDArray[np.uint8]


def add_flags(words: Parser, *, fps: float, tile_width: int) -> None:
    words.add_argument("--mode", choices=("single", "grid"), help="one environment or a grid (default: as configured)")
    words.number("--slot", low=0, metavar="N", help="environment shown in single mode")
    about = f"pictures a second, if the run can (default {fps:g})"
    words.number("--fps", low=0.1, high=120, whole=False, default=fps, help=about)
    about = f"default {tile_width}"
    words.number("--tile-width", low=16, high=1280, default=tile_width, metavar="PIXELS", help=about)


def wishes_of(flags: Any) -> Wishes:
    """What the flags ask for."""
    mode = flags.mode or ("single" if flags.slot is not None else None)
    return Wishes(mode=mode, slot=flags.slot, fps=flags.fps, tile_width=flags.tile_width)


@contextmanager
def frames_of(client: Client, run: RunRecord, wishes: Wishes) -> Generator[Iterator[RunFrames | None]]:
    """The frames of a run as they come, None now and then while there is none, an end when the run ends."""
    if run.state in TERMINAL:
        raise Ended(run)
    ring = None if current().target else _ring(client, run)
    if ring is None:
        yield _remote(client, run, wishes)
    else:
        with Viewer(ring, wishes) as viewer:
            yield _local(viewer)


def _ring(client: Client, run: RunRecord) -> Path | None:
    announced = [Path(artifact.path) for artifact in client.artifacts(run.run_id) if artifact.kind == "fastlane"]
    return next((path for path in reversed(announced) if path.exists()), None)


def _local(viewer: Viewer) -> Iterator[RunFrames | None]:
    while not viewer.closed:
        frame = viewer.wait(WAIT_S)
        if frame is None and viewer.note:
            raise NothingToSee(viewer.note)
        yield None if frame is None else RunFrames(frame.head, np.ascontiguousarray(frame.pixels[:, :, 2::-1]))


def _remote(client: Client, run: RunRecord, wishes: Wishes) -> Iterator[RunFrames | None]:
    from PIL import Image

    with closing(client.frames(run.run_id, quality=REMOTE_QUALITY, **vars(wishes))) as stream:
        for frame in stream:
            if frame.note:
                raise NothingToSee(frame.note)
            yield RunFrames(frame.head, np.asarray(Image.open(io.BytesIO(frame.image)).convert("RGB")))


def is_complete(head: FrameHead) -> bool:
    """Whether every tile was drawn once: a grid fills up tile by tile. A tile not drawn yet has no length."""
    return all(tile.episode_length for tile in head.tiles)


def caption(head: FrameHead) -> str:
    """What stands below a picture."""
    shown = "grid" if head.grid else f"environment {head.tiles[0].env}"
    kind = " (Eval)" if head.evaluation else ""
    return f"step {head.global_step:,}  {head.steps_per_s:,.0f} steps/s  {shown}{kind}  {head.line}".rstrip()
