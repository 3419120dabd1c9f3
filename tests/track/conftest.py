"""Runs written by hand, exported by the real package in real processes; every process is ended by its id."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from patience import looks

from mosaic.spec import events
from mosaic.spec.events import Episode, EventBody, PolicySaved, RunCompleted, RunStarted, Scalars, VideoSaved
from mosaic.spec.processes import process_identity
from mosaic.spec.run_dir import Home, RunDir, new_run_id
from mosaic.track import export_state
from mosaic.track.export_state import Export

KEY = "5ec3e7" * 6 + "beef"
T = TypeVar("T")


def eventually(look: Callable[[], T], timeout_s: float = 300.0) -> T:
    """The first true answer."""
    for _ in looks(timeout_s):
        if found := look():
            return found
    raise AssertionError("it did not happen in time")


class Written:
    """A run directory as a worker leaves it."""

    def __init__(self, home: Home, **extras: Any) -> None:
        self.dir: RunDir = home.run(new_run_id())
        self.dir.create()
        self.bodies: list[EventBody] = []
        worker = {
            "algo": "ppo",
            "env_id": "CartPole-v1",
            "seed": 3,
            "extras": {
                "track_wandb": True,
                "algo_params": {"learning_rate": 0.01},
                "wandb_project_name": "try",
                **extras,
            },
        }
        document = {
            "run_name": "by hand",
            "environment": {"env_id": "CartPole-v1"},
            "artifacts": {"tensorboard": {"enabled": False}, "wandb": {"enabled": True}},
            "metadata": {"worker": {"config": worker}},
        }
        self.dir.config.write_text(json.dumps(document))

    def start(self, **more: Any) -> "Written":
        return self.add(RunStarted(algo="ppo", env_id="CartPole-v1", seed=3, total_timesteps=1000, **more))

    def train(self, first: int, last: int) -> "Written":
        """Two episodes at one step and some scalars, every ten steps."""
        for step in range(first, last + 1, 10):
            self.add(Episode(global_step=step, slot=0, episodic_return=float(step), episodic_length=9))
            self.add(Episode(global_step=step, slot=1, episodic_return=step / 3, episodic_length=8))
            self.add(Scalars(global_step=step, values={"losses/entropy": 1 / (step + 1), "charts/SPS": 100.0 + step}))
        return self

    def save_policy(self) -> "Written":
        path = self.dir.policy("label", "ppo")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"weights")
        return self.add(PolicySaved(global_step=0, path=self.dir.relative(path)))

    def save_video(self, episode: int, *, gone: bool = False) -> "Written":
        path = self.dir.videos / f"rl-video-episode-{episode}.mp4"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not gone:
            path.write_bytes(f"film {episode}".encode())
        about = {"episodic_return": 9.0, "episodic_length": 9}
        return self.add(VideoSaved(path=f"videos/{self.dir.run_id}/{path.name}", episode_id=episode, **about))

    def end(self, step: int = 0) -> "Written":
        return self.add(RunCompleted(global_step=step))

    def add(self, body: EventBody) -> "Written":
        self.bodies.append(body)
        event = events.Event(len(self.bodies), 1_700_000_000.0 + len(self.bodies), body)
        with self.dir.events.open("a") as file:
            file.write(events.encode(event) + "\n")
        return self

    def live(self) -> "Written":
        """Its worker is this very process."""
        process_identity.write_self(self.dir.worker, attempt=1)
        return self

    @property
    def export(self) -> Export:
        found = export_state.read(self.dir)
        assert found is not None
        return found

    @property
    def wandb_file(self) -> Path:
        (found,) = self.dir.inside(self.export.folder).glob("*.wandb")
        return found


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home without a daemon; nothing beyond this machine is asked, nothing of the user's is read."""
    for name in [name for name in os.environ if name.startswith("WANDB_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MOSAIC_EXPORT_NICE", "0")
    made = Home(tmp_path / "home")
    made.create()
    return made


@pytest.fixture(scope="session")
def empty_mlflow(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """MLflow takes many seconds to make its tables: made once for all processes of the suite, copied for each test."""
    code = "import sys; from mlflow.tracking import MlflowClient; MlflowClient(sys.argv[1]).search_experiments()"

    def make(path: Path) -> None:
        subprocess.run([sys.executable, "-c", code, f"sqlite:///{path}"], check=True, stderr=subprocess.DEVNULL)

    return made_once("mlflow.db", make)


@pytest.fixture
def written(home: Home) -> Callable[..., Written]:
    return lambda **extras: Written(home, **extras)


@pytest.fixture
def track() -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    """`track(run, VARIABLE=value)` starts an exporter."""
    started: list[subprocess.Popen[bytes]] = []

    def start(run: Written, **variables: str) -> "subprocess.Popen[bytes]":
        with run.dir.wandb_log.open("ab") as log:
            command = [sys.executable, "-m", "mosaic.track", str(run.dir.root)]
            process = subprocess.Popen(
                command, env={**os.environ, **variables}, stdout=log, stderr=log, start_new_session=True
            )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
