"""One real daemon with a home of its own for all tests of the command line; ended by its id."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mosaic import cli
from mosaic.rpc.locate import running_address
from mosaic.spec.run_dir import Home

HERE = str(Path(__file__).parent)
MOSAIC = Path(sys.executable).parent / "mosaic"
ENDS = ("finished", "failed", "cancelled", "lost")
"""Of runs and of sweeps."""


@dataclass(frozen=True)
class Said:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


def run(*words: str) -> Said:
    """A command in this process, as if piped."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = cli.main(words)
        except SystemExit as end:  # tyro ends the process itself
            code = int(end.code or 0)
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return Said(code, *texts)


@pytest.fixture(scope="session")
def mosaic(tmp_path_factory: pytest.TempPathFactory) -> Generator[Callable[..., Said]]:
    """`run`, with a daemon behind it."""
    home = Home(tmp_path_factory.mktemp("home"))
    home.create()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOSAIC_HOME", str(home.root))
        patch.setenv("PYTHONPATH", os.pathsep.join([HERE, *sys.path]))
        for name in ("MOSAIC_TARGET", "MOSAIC_CERTIFICATE", "NO_COLOR", "COLUMNS"):
            patch.delenv(name, raising=False)
        # By another process: one that this process started would be its child until the end of all tests.
        subprocess.run([MOSAIC, "daemon", "start"], check=True, stdout=subprocess.DEVNULL)
        yield run
        end_everything()
        pid = json.loads(home.lock.read_text())["pid"]
        os.kill(pid, signal.SIGTERM)
        until(lambda: running_address(home) is None)


def end_everything() -> None:
    """Cancel sweeps and runs, and wait for their ends."""
    for sweep in run("sweeps", "--json").objects:
        if sweep["phase"] not in ENDS:
            run("sweep", "cancel", sweep["sweep_id"])
    until(lambda: all(sweep["phase"] in ENDS for sweep in run("sweeps", "--json").objects))
    for line in going_on():
        run("cancel", line["run_id"])
    until(lambda: not going_on())


def going_on() -> list[Any]:
    lines = run("runs", "--json", "--limit", "0", "--kind", "all").objects
    return [line for line in lines if line["state"] not in ENDS]


@pytest.fixture(scope="session")
def finished(mosaic: Callable[..., Said]) -> str:
    """The id of a short run that has finished."""
    said = mosaic("train", "ppo", "--total-timesteps", "3000", "--label", "short one", "--follow", "--json")
    assert said.code == 0, said.err
    return said.objects[-1]["run_id"]


@pytest.fixture
def endless(mosaic: Callable[..., Said]) -> Generator[str]:
    """The id of a run that trains until it is told to end."""
    where = ("--env-id", "resting:Resting-v0")  # it takes little of the processor
    run_id = mosaic("train", "ppo", *where, "--total-timesteps", "100000000", "--label", "endless").out.strip()
    until(lambda: state(run_id) == "running" and steps(run_id) > 0)
    yield run_id
    mosaic("cancel", run_id)
    until(lambda: state(run_id) in ENDS)


def state(run_id: str) -> str:
    return run("show", run_id, "--json").objects[0]["state"]


def steps(run_id: str) -> int:
    return run("show", run_id, "--json").objects[0]["global_step"]


def until(holds: Callable[[], bool], timeout_s: float = 300.0) -> None:
    """Wait for other processes, with an end."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


@pytest.fixture(name="until")
def _until() -> Callable[..., None]:
    return until


@pytest.fixture(name="state")
def _state() -> Callable[[str], str]:
    return state
