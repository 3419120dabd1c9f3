"""A real daemon with a warm worker; scripts are submitted to it, and every process is ended by its id."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from patience import looks
from processes import end_all_of

from mosaic.rpc.client import Client
from mosaic.rpc.locate import running_address
from mosaic.scripts import script
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.script_flags import settings_from
from mosaic.spec import manifest
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL

HERE = Path(__file__).parent
T = TypeVar("T")


def eventually(look: Callable[[], T], timeout_s: float = 300.0, *, what: str = "") -> T:
    for _ in looks(timeout_s):
        if found := look():
            return found
    raise AssertionError(f"not within {timeout_s} s: {what or look}")


class Studio:
    """A daemon, and what tests ask of it."""

    def __init__(self, root: Path, catalogue_file: Path) -> None:
        self.home = Home(root / "home")
        self.home.create()
        shutil.copy2(catalogue_file, self.home.trainer / "catalog.json")
        self.outside = root / "outside"
        self.outside.mkdir()
        temporary = root / "tmp"
        temporary.mkdir()
        self.own = root / "own"
        """A folder of scripts that tests write."""
        self.own.mkdir()
        for folder in (*(HERE / name for name in ("manners", "faults", "more", "checkout")), self.own):
            Allowed(self.home).add(folder)
        environment = {**os.environ, "MOSAIC_HOME": str(self.home.root), "TMPDIR": str(temporary)}
        environment |= {"WANDB_MODE": "offline", "HOME": str(root)}
        with (root / "daemon.log").open("wb") as log:
            words = [sys.executable, "-m", "mosaic.trainer", "--cpus", "2", "--stop-s", "10"]
            self.process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        eventually(lambda: running_address(self.home), what="a daemon")
        self.client = Client(home=self.home, start=False)
        eventually(lambda: self.client.health().warm_workers, 300, what="a warm worker")

    def submit(self, path: str, *words: str, seeds: tuple[int, ...] = (), **extras: Any) -> RunRecord:
        """Start a script with its own flags."""
        return self.client.submit(self.document(path, *words, **extras), seeds=list(seeds))[0]

    def document(self, path: str, *words: str, **extras: Any) -> dict[str, Any]:
        settings = settings_from(script.read(HERE / path), words, prog="test")
        outside = {name: settings.pop(name) for name in ("env_id", "total_timesteps", "seed")}
        worker = {"algo": str(HERE / path), **outside, "extras": {"algo_params": settings, **extras}}
        return {
            "environment": {"env_id": outside["env_id"]},
            "artifacts": {"wandb": {"enabled": bool(extras.get("track_wandb"))}},
            "metadata": {"worker": {"config": worker}},
        }

    def ended(self, run: RunRecord, timeout_s: float = 300.0) -> RunRecord:
        def look() -> RunRecord | None:
            now = self.client.get(run.run_id)
            return now if now.state in TERMINAL else None

        return eventually(look, timeout_s, what=f"the end of {run.label}")

    def events(self, run: RunRecord) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.home.run(run.run_id).events.read_bytes().splitlines()]

    def artifacts(self, run: RunRecord, kind: str) -> list[str]:
        found = manifest.read(self.home.run(run.run_id)).artifacts
        return [artifact.path for artifact in found if artifact.kind == kind]

    def close(self) -> None:
        self.client.close()
        self.process.kill()
        self.process.wait()
        end_all_of(self.home.root)


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory, catalogue_file: Path) -> Iterator[Studio]:
    root = tmp_path_factory.mktemp("foreign")
    made = Studio(root, catalogue_file)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(name="eventually", scope="session")
def _eventually() -> Callable[..., Any]:
    return eventually
