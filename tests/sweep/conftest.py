"""One real daemon for all tests of sweeps; those that kill daemons have homes of their own."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest
from patience import looks
from processes import end_all_of

from mosaic.rpc.client import Client
from mosaic.rpc.locate import running_address
from mosaic.spec.run_dir import Home
from mosaic.sweep import sweep_state
from mosaic.sweep.sweep_dir import SweepDir, sweep_of
from mosaic.sweep.sweep_state import SweepState

T = TypeVar("T")
MOSAIC = Path(sys.executable).parent / "mosaic"
QUICK = {"num_envs": 2, "num_steps": 32, "num_minibatches": 1, "update_epochs": 1}


def eventually(look: Callable[[], T], timeout_s: float = 300.0, *, what: str = "") -> T:
    for _ in looks(timeout_s):
        if found := look():
            return found
    raise AssertionError(f"not within {timeout_s} s: {what or look}")


def document(steps: int = 512, *, env_id: str = "CartPole-v1", **params: Any) -> dict[str, Any]:
    worker = {
        "algo": "ppo",
        "env_id": env_id,
        "total_timesteps": steps,
        "extras": {"mode": "train", "algo_params": {**QUICK, **params}, "checkpoint_interval_s": 1},
    }
    return {
        "environment": {"env_id": env_id},
        "artifacts": {"tensorboard": {"enabled": False}},
        "metadata": {"worker": {"config": worker}},
    }


def plan(steps: int = 512, *, env_id: str = "CartPole-v1", **changes: Any) -> dict[str, Any]:
    """A sweep of few short runs; without confirmation unless told otherwise."""
    space = [{"name": "learning_rate", "choices": [0.0001, 0.001, 0.01]}]
    made = {
        "document": document(steps, env_id=env_id),
        "space": space,
        "defaults": {"learning_rate": 0.0025},
        "method": "grid",
        "prune": "none",
        "trials": 3,
        "confirm_best": 0,
        "confirm_seeds": [],
    }
    return {**made, **changes}


class SweepHome:
    """A home, its daemon and its sweeps."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root)

    def start(self) -> "SweepHome":
        """By another process, so that it is not a child of this one."""
        environment = {**os.environ, "MOSAIC_HOME": str(self.home.root)}
        subprocess.run([MOSAIC, "daemon", "start"], env=environment, check=True, stdout=subprocess.DEVNULL)
        return self

    @property
    def client(self) -> Client:
        """A connection to the daemon that runs now; a killed one is started again."""
        return Client(home=self.home)

    def submit(self, data: dict[str, Any], **options: Any) -> str:
        with self.client as client:
            return client.submit_sweep(data, **options).sweep_id

    def control(self, sweep_id: str, verb: str, *trials: int) -> None:
        with self.client as client:
            client.control_sweep(sweep_id, verb, trials=trials)

    def files(self, sweep_id: str) -> SweepDir:
        return sweep_of(self.home, sweep_id)

    def state(self, sweep_id: str) -> SweepState:
        return sweep_state.read(self.files(sweep_id))

    def until(self, sweep_id: str, *phases: str, timeout_s: float = 300.0) -> SweepState:
        def look() -> SweepState | None:
            state = self.state(sweep_id)
            return state if state.phase in phases and state.heard == state.asked else None

        return eventually(look, timeout_s, what=f"{phases}: {self.files(sweep_id).log}")

    @property
    def daemon_pid(self) -> int:
        return json.loads(self.home.lock.read_text())["pid"]

    def kill_daemon(self) -> None:
        os.kill(self.daemon_pid, signal.SIGKILL)

    def controller(self, sweep_id: str) -> int | None:
        """The process id of the living controller."""
        root = str(self.files(sweep_id).root)
        for process in psutil.process_iter(["cmdline"]):
            words = process.info["cmdline"] or []
            if "mosaic.sweep" in words and words[-1] == root and process.status() != psutil.STATUS_ZOMBIE:
                return process.pid
        return None

    def kill_controller(self, sweep_id: str) -> bool:
        pid = self.controller(sweep_id)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
        return pid is not None

    def close(self) -> None:
        # Controllers bring a killed daemon back: all of them end together.
        if running_address(self.home):
            os.kill(self.daemon_pid, signal.SIGKILL)
        end_all_of(self.home.root)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, catalogue_file: Path) -> Generator[SweepHome]:
    """No test may end its daemon."""
    yield from _home(tmp_path_factory, catalogue_file)


@pytest.fixture
def own_home(tmp_path_factory: pytest.TempPathFactory, catalogue_file: Path) -> Generator[SweepHome]:
    yield from _home(tmp_path_factory, catalogue_file)


def _home(factory: pytest.TempPathFactory, catalogue_file: Path) -> Generator[SweepHome]:
    made = SweepHome(factory.mktemp("home"))
    made.home.create()
    shutil.copy2(catalogue_file, made.home.trainer / "catalog.json")
    try:
        yield made.start()
    finally:
        made.close()


class Kit:
    """What tests share."""

    plan = staticmethod(plan)
    document = staticmethod(document)
    eventually = staticmethod(eventually)


@pytest.fixture(scope="session")
def kit() -> type[Kit]:
    return Kit
