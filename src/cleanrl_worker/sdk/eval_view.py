"""The live view and the videos of an evaluation, where they are wanted."""

from collections.abc import Generator
from contextlib import contextmanager

from cleanrl_worker.sdk import live
from cleanrl_worker.sdk.ledger import Ledger
from cleanrl_worker.sdk.recorder import Recorder
from cleanrl_worker.sdk.vector import Envs
from cleanrl_worker.sdk.video import Video, Videos
from mosaic.spec.events import LiveViewOpened, Warned
from mosaic.spec.manifest import Artifact
from mosaic.spec.run_config import LiveView
from mosaic.spec.run_dir import RunDir


@contextmanager
def seen(
    lanes: Envs, options: LiveView, run_dir: RunDir, recorder: Recorder, ledger: Ledger, *, capture_video: bool
) -> Generator[None]:
    """While the evaluation plays in these environments."""

    def warn(message: str) -> None:
        recorder.emit(Warned(message=message))

    def saved(video: Video) -> None:
        event = video.event(run_dir)
        ledger.add(Artifact(kind="video", path=event.path))
        recorder.emit(event)

    if capture_video:
        lanes.videos = Videos(lanes.backend, run_dir.eval_videos, saved=saved, complain=warn)
    lanes.live = view = live.open_view(
        lanes.backend, options, global_step=lambda: lanes.global_step, complain=warn, evaluation=True
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
