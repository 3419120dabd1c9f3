"""Who looks at environments that live as tensors sees them move, and the run is the same."""

import signal
from pathlib import Path

from worker_runs import events_of, started, wait_until

from mosaic.fastlane.viewer import Viewer
from mosaic.spec.events import LiveViewOpened
from mosaic.spec.run_dir import RunDir


def live_view_of(run_dir: RunDir) -> str | None:
    events = events_of(run_dir) if run_dir.events.exists() else []
    return next((event.body.path for event in events if isinstance(event.body, LiveViewOpened)), None)


def test_a_viewer_sees_the_first_environments(run_dir: RunDir) -> None:
    flags = ("--algo=ppo_resident", "--num-envs=64", "--num-steps=16", "--total-timesteps=100000000", "--quiet")
    with started(*flags, "--run-dir", str(run_dir.root)) as process:
        assert wait_until(lambda: live_view_of(run_dir) is not None, process)
        with Viewer(Path(str(live_view_of(run_dir)))) as viewer:
            frame = viewer.wait(300)
            assert frame is not None
            assert frame.pixels.std() > 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0
