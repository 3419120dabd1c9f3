"""The live view and the videos of an evaluation, where they are wanted."""

from collections.abc import Generator
from contextlib import contextmanager

from cleanrl_worker.sdk import live
from cleanrl_worker.sdk.eval_batches import Batches
from cleanrl_worker.sdk.eval_plan import EvalFlags
from cleanrl_worker.sdk.ledger import Ledger
from cleanrl_worker.sdk.recorder import Recorder
from cleanrl_worker.sdk.video import FILMED_SLOT, Video, Videos
from mosaic.spec.events import LiveViewOpened, Warned
from mosaic.spec.manifest import Artifact
from mosaic.spec.run_dir import RunDir


@contextmanager
def seen(batches: Batches, flags: EvalFlags, run_dir: RunDir, recorder: Recorder, ledger: Ledger) -> Generator[None]:
    """While the evaluation plays."""
    lanes = batches.lanes

    def warn(message: str) -> None:
        recorder.emit(Warned(message=message))

    def saved(video: Video) -> None:
        event = video.event(run_dir)
        ledger.add(Artifact(kind="video", path=event.path))
        recorder.emit(event)

    def counts() -> bool:
        """Environment 0 goes on playing while others have episodes left."""
        return batches.progress.left[FILMED_SLOT] > 0

    if flags.capture_video:
        lanes.videos = Videos(lanes.backend, run_dir.eval_videos, counts=counts, saved=saved, complain=warn)
    lanes.live = view = live.open_view(
        lanes.backend, flags, global_step=lambda: lanes.global_step, complain=warn, evaluation=True
    )
    if view is not None:
        ledger.add(Artifact(kind="fastlane", path=view.path))
        recorder.emit(LiveViewOpened(path=view.path, environments=lanes.num_envs))
    try:
        yield
    finally:
        if lanes.videos is not None:
            lanes.videos.close()
        if view is not None:
            ledger.remove(view.path)
            view.close()
