"""Play sessions in this process, which are quick, and one real daemon for what needs processes; ended by its id."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from processes import end_all_of

from mosaic.play import worker
from mosaic.rpc.client import Client
from mosaic.rpc.locate import running_address
from mosaic.scripts.allowed_folders import Allowed
from mosaic.spec import episode_file
from mosaic.spec.episode_file import EpisodeFile
from mosaic.spec.run_dir import Home, RunDir, new_run_id

T = TypeVar("T")
HERE = str(Path(__file__).parent)


def document(
    env_id: str,
    actors: dict[str, str] | str,
    *,
    seed: int = 1,
    env_settings: dict[str, Any] | None = None,
    **extras: Any,
) -> dict[str, Any]:
    seats = {"agent_0": actors} if isinstance(actors, str) else actors
    config = {
        "env_id": env_id,
        "seed": seed,
        "extras": {"mode": "play", "actors": seats, "video_mode": "off", **extras},
    }
    return {
        "environment": {"env_id": env_id, "settings": env_settings or {}},
        "artifacts": {},
        "metadata": {"worker": {"module": "mosaic.play", "config": config}},
    }


@dataclass(frozen=True)
class Played:
    """A session that is over."""

    code: int
    run_dir: RunDir

    @property
    def episodes(self) -> list[EpisodeFile]:
        return [episode_file.read(path) for path in sorted(self.run_dir.episodes.glob("*.jsonl"))]

    @property
    def summary(self) -> dict[str, Any]:
        return json.loads(self.run_dir.play_summary.read_text())

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run_dir.events.read_bytes().splitlines()]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Played]:
    """A whole session through the worker's own entry point."""
    home = Home(tmp_path / "home")
    home.create()
    Allowed(home).add(tmp_path)
    monkeypatch.setenv("MOSAIC_HOME", str(home.root))

    def run(env_id: str, actors: dict[str, str] | str, **options: Any) -> Played:
        run_dir = home.run(new_run_id())
        config = tmp_path / f"{run_dir.run_id}.json"
        config.write_text(json.dumps(document(env_id, actors, **options)))
        code = worker.main(["--config", str(config), "--run-dir", str(run_dir.root), "--quiet"])
        return Played(code, run_dir)

    return run


def eventually(look: Callable[[], T], timeout_s: float = 300.0) -> T:
    """The first true answer; looks again until then."""
    deadline = time.monotonic() + timeout_s
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {look}"
        time.sleep(0.01)
    return found


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> Generator[Client]:
    """Of a daemon with a warm worker."""
    home = Home(tmp_path_factory.mktemp("home"))
    home.create()
    # Where tests write the files of scripted actors.
    Allowed(home).add(tmp_path_factory.getbasetemp())
    log = home.root / "daemon.log"
    with log.open("ab") as out:
        daemon = subprocess.Popen(
            [sys.executable, "-m", "mosaic.trainer", "--cpus", "2"],
            # Where the misbehaving environments are.
            env={**os.environ, "MOSAIC_HOME": str(home.root), "PYTHONPATH": os.pathsep.join([HERE, *sys.path])},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    eventually(lambda: running_address(home) or daemon.poll() is not None)
    with Client(home=home, start=False) as made:
        eventually(lambda: made.health().warm_workers, 300)
        yield made
    daemon.kill()
    daemon.wait()
    end_all_of(home.root)
    shutil.rmtree(home.root, ignore_errors=True)


class Kit:
    document = staticmethod(document)
    eventually = staticmethod(eventually)


@pytest.fixture(scope="session")
def kit() -> type[Kit]:
    return Kit
