"""Live frames for viewers on other machines: the ring of a run, read here and sent as pictures.

Each stream takes the newest frame when the last one is out, so one that cannot keep up misses frames and never queues.
"""

import io
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mosaic.errors import ConfigError, MosaicError, Problem
from mosaic.fastlane.ring_files import is_ring
from mosaic.fastlane.ring_sweep import sweep
from mosaic.fastlane.viewer_lease import MAX_FPS, MAX_TILE_WIDTH, MIN_BUDGET, MIN_FPS, MIN_TILE_WIDTH, Mode, Wishes
from mosaic.log import get_logger
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.codec import from_head
from mosaic.spec.run_dir import RunDir
from mosaic.trainer.index import run_artifacts
from mosaic.trainer.serving.change_signal import ChangeSignal

if TYPE_CHECKING:
    from mosaic.fastlane.ring_layout import Frame

WAIT_S = 0.5
SWEEP_S = 60.0
DEFAULTS: dict[str, float | str] = {"quality": 80, "tile_width": 320, "format": "jpeg"}
CHOICES = {"mode": ("", "single", "grid", "off"), "format": ("jpeg", "webp")}
BOUNDS = {
    "fps": (MIN_FPS, MAX_FPS),
    "quality": (1, 100),
    "tile_width": (MIN_TILE_WIDTH, MAX_TILE_WIDTH),
    "budget": (MIN_BUDGET, 1.0),
}
AS_CONFIGURED = ("fps", "budget")
"""Those whose 0 leaves it to the run."""

log = get_logger()


class NoLiveView(MosaicError):
    """The run shows nothing, now or ever."""

    exit_code = 2


def start_sweeping(ending: threading.Event) -> None:
    """Now and every minute, remove what killed workers left in shared memory."""

    def work() -> None:
        while True:
            try:
                if removed := sweep():
                    log.info("fastlane.swept", files=[path.name for path in removed])
            except OSError as error:  # A border: the next look may find the file system writable again.
                log.warning("fastlane.not_swept", error=str(error))
            if ending.wait(SWEEP_S):
                return

    threading.Thread(target=work, name="fastlane-sweep", daemon=True).start()


def checked(request: pb.StreamFramesRequest) -> pb.StreamFramesRequest:
    """The request with its defaults filled in, or a ConfigError with all that is wrong with it."""
    for name, default in DEFAULTS.items():
        if not getattr(request, name):
            setattr(request, name, default)
    values = {name: getattr(request, name) for name in (*CHOICES, *BOUNDS)}
    problems = [
        Problem(name, f"'{values[name]}' is not one of {', '.join(filter(None, choices))}")
        for name, choices in CHOICES.items()
        if values[name] not in choices
    ] + [
        Problem(name, f"{values[name]:g} is not between {low:g} and {high:g}")
        for name, (low, high) in BOUNDS.items()
        if not low <= values[name] <= high and not (name in AS_CONFIGURED and values[name] == 0)
    ]
    if problems:
        raise ConfigError(problems, what="StreamFrames")
    return request


def ring_of(run_dir: RunDir) -> Path:
    """The ring that a run's worker announced, if it is on this machine."""
    for artifact in reversed(run_artifacts.of_manifest(run_dir)[0]):
        if artifact.kind == "fastlane" and is_ring(Path(artifact.path)):
            return Path(artifact.path)
    raise NoLiveView(f"run {run_dir.run_id} has no live view now: it does not run, or was started with it switched off")


def stream(
    run_dir: RunDir, request: pb.StreamFramesRequest, change_signal: ChangeSignal, context: Any
) -> Iterator[pb.LiveFrame]:
    """Pictures as they come, at most `fps` a second, until the run or its watcher is gone."""
    # Only here: it loads numpy, and a daemon answers without.
    from mosaic.fastlane.viewer import Viewer

    ring = ring_of(run_dir)
    wishes = Wishes(
        mode=cast("Mode | None", request.mode or None),
        slot=request.slot if request.HasField("slot") else None,
        fps=request.fps or None,
        tile_width=request.tile_width,
        budget=request.budget or None,
        explain=request.explain,
    )
    noted, next_at = "", 0.0
    with Viewer(ring, wishes) as viewer:
        while context.is_active() and not change_signal.closed and not viewer.closed:
            time.sleep(max(0.0, next_at - time.monotonic()))
            frame = viewer.wait(WAIT_S)
            if frame is not None:
                next_at = time.monotonic() + 1 / (request.fps or MAX_FPS)
                yield _message(frame, encoded(frame, request.format, request.quality))
            elif viewer.note != noted:
                noted = viewer.note
                yield pb.LiveFrame(note=noted)


def encoded(frame: "Frame", image_format: str, quality: int) -> bytes:
    # Only here: a daemon that no client watches through need not load it.
    from PIL import Image

    height, width = frame.pixels.shape[:2]
    image = Image.frombuffer("RGB", (width, height), frame.pixels, "raw", "BGRX", 0, 1)
    out = io.BytesIO()
    # WebP's quickest method: it must not take longer than the next frame.
    image.save(out, image_format, quality=quality, **({"method": 0} if image_format == "webp" else {}))
    return out.getvalue()


def _message(frame: "Frame", image: bytes) -> pb.LiveFrame:
    message = from_head(frame.head)
    message.number, message.image = frame.number, image
    message.age_s = time.monotonic() - frame.published_at
    return message
