"""Real daemons and real workers in homes of their own; every process that a test leaves behind is ended by its id."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest
from patience import looks
from processes import end_all_of

from mosaic.rpc.client import Client
from mosaic.rpc.locate import running_address
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL

T = TypeVar("T")
ENDLESS = 1_000_000_000
ALGO_PARAMS = {"num_envs": 2, "num_steps": 32, "num_minibatches": 1, "update_epochs": 1}


def eventually(look: Callable[[], T], timeout_s: float = 300.0, *, what: str = "") -> T:
    """The first true answer; looks again until then."""
    for _ in looks(timeout_s):
        if found := look():
            return found
    raise AssertionError(f"not within {timeout_s} s: {what or look}")


def document(
    steps: int = 512, *, seed: int = 1, extras: dict[str, Any] | None = None, params: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A small PPO run; one that goes on until it is told to end takes little of the processor."""
    env_id = "resting:Resting-v0" if steps == ENDLESS else "CartPole-v1"
    worker = {
        "algo": "ppo",
        "env_id": env_id,
        "total_timesteps": steps,
        "seed": seed,
        "extras": {"algo_params": ALGO_PARAMS | (params or {}), **(extras or {})},
    }
    return {
        "run_name": "small",
        "environment": {"env_id": env_id},
        "artifacts": {"tensorboard": {"enabled": False}},
        "metadata": {"worker": {"config": worker}},
    }


class Daemon:
    """A daemon process of a home, which can be killed and started again."""

    def __init__(self, root: Path, *flags: str, environment: dict[str, str] | None = None) -> None:
        self.home = Home(root)
        self.module = "mosaic.trainer"
        self.flags = list(flags)
        self.environment = environment or {}
        self.log = root / "daemon.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._clients: list[Client] = []

    def begin(self) -> "subprocess.Popen[bytes]":
        """Start it, without waiting."""
        self.home.create()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", self.module, *self.flags],
                env={**os.environ, "MOSAIC_HOME": str(self.home.root), **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self.process

    def start(self) -> "Daemon":
        process = self.begin()
        eventually(lambda: running_address(self.home) or process.poll() is not None, what="daemon")
        assert process.poll() is None, self.log.read_text()
        return self

    def kill(self) -> None:
        """kill -9."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        # A child that it was just making has its lock until it becomes another program.
        eventually(lambda: running_address(self.home) is None, what="the lock")

    def stop(self) -> int:
        assert self.process is not None
        self.process.terminate()
        code = self.process.wait(timeout=300)
        assert code == 0, self.log.read_text()
        return code

    def restart(self) -> "Daemon":
        self.kill()
        return self.start()

    @property
    def client(self) -> Client:
        """A new connection to the running daemon."""
        self._clients.append(Client(home=self.home, start=False))
        return self._clients[-1]

    def until(self, run_id: str, *states: str, timeout_s: float = 300.0) -> RunRecord:
        """The run, once it is in one of these states."""
        client = self.client

        def look() -> RunRecord | None:
            record = client.get(run_id)
            if record.state not in states and record.state in TERMINAL:
                raise AssertionError(f"{record.state}: {record.reason} {record.stderr_tail}")
            return record if record.state in states else None

        return eventually(look, timeout_s, what=f"{run_id} to be {states}")

    def until_whole(self) -> None:
        """Its index has every run, with its progress."""
        client = self.client
        eventually(lambda: (now := client.health()).indexed == now.index_total, what="a whole index")

    def events(self, run_id: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.home.run(run_id).events.read_bytes().splitlines()]

    def check_sequence(self, run_id: str) -> int:
        """The events of a run are without gap and without duplicate; how many there are."""
        numbers = [event["seq"] for event in self.events(run_id)]
        assert numbers == list(range(1, len(numbers) + 1))
        return len(numbers)

    def close(self) -> None:
        for client in self._clients:
            client.close()
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.kill()
        end_all_of(self.home.root)


def session_of(leader: int) -> list[int]:
    found: list[int] = []
    for pid in psutil.pids():
        with contextlib.suppress(ProcessLookupError, PermissionError, psutil.NoSuchProcess):
            if os.getsid(pid) == leader and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
    return found


@contextlib.contextmanager
def making_daemons(factory: pytest.TempPathFactory, catalogue_file: Path) -> Generator[Callable[..., Daemon]]:
    with contextlib.ExitStack() as stack:

        def make(*flags: str, root: Path | None = None, **options: Any) -> Daemon:
            daemon = Daemon(root or factory.mktemp("home"), *flags, **options)
            daemon.home.create()
            shutil.copy2(catalogue_file, daemon.home.trainer / "catalog.json")
            stack.callback(daemon.close)
            return daemon

        yield make


@pytest.fixture(scope="module")
def module_daemons(tmp_path_factory: pytest.TempPathFactory, catalogue_file: Path) -> Generator[Callable[..., Daemon]]:
    """Makes daemons that several tests share, each in a home of its own."""
    with making_daemons(tmp_path_factory, catalogue_file) as make:
        yield make


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One daemon with a warm worker, for all modules; no test may end it."""
    daemon = Daemon(tmp_path_factory.mktemp("home"), "--cpus", "4")
    try:
        client = daemon.start().client
        client.algorithms()
        eventually(lambda: client.health().warm_workers, 300, what="a warm worker")
        yield daemon
    finally:
        daemon.close()


@pytest.fixture
def daemons(tmp_path_factory: pytest.TempPathFactory, catalogue_file: Path) -> Generator[Callable[..., Daemon]]:
    """Makes daemons, each in a home of its own; they end with the test, and with them all that still trains."""
    with making_daemons(tmp_path_factory, catalogue_file) as make:
        yield make


class Kit:
    """What tests share."""

    ENDLESS = ENDLESS
    document = staticmethod(document)
    eventually = staticmethod(eventually)
    session_of = staticmethod(session_of)


@pytest.fixture(scope="session")
def kit() -> type[Kit]:
    return Kit
