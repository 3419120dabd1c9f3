"""`mosaic gui --target`: the window of another daemon, over TCP with its token, and none is started beside it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from mosaic import cli
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.rpc.locate import running_address
from mosaic.spec.run_dir import Home

from ..conftest import TIMEOUT_S, Daemon, HandWritten, Show

MOSAIC = Path(sys.executable).parent / "mosaic"


@pytest.fixture(scope="module")
def far_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """The home of a daemon that listens on TCP, with one run."""
    home = Home(tmp_path_factory.mktemp("far") / "home")
    home.create()
    run = HandWritten(home, env_id="CartPole-v1", label="far away")
    run.publish()
    daemon = Daemon(home, "--no-warm", "--listen", free_address())
    daemon.start()
    yield home
    run.die()
    daemon.close()


@pytest.fixture
def address(far_home: Home) -> str:
    [tcp] = [one for one in json.loads(far_home.lock.read_text())["addresses"] if not one.startswith("unix:")]
    return tcp


@pytest.fixture
def elsewhere(far_home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The home of a user who has a copy of that daemon's token."""
    monkeypatch.setenv("MOSAIC_TOKEN_FILE", str(far_home.token))
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path / "elsewhere"))
    monkeypatch.delenv("MOSAIC_TARGET", raising=False)
    return Home.resolve()


def free_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


@contextmanager
def window(*words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """The command in a session of its own, which ends it as Ctrl-C in a terminal does."""
    process = subprocess.Popen([MOSAIC, *words], start_new_session=True)
    try:
        yield process
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(TIMEOUT_S) == 0
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(TIMEOUT_S)


def wait_for(process: "subprocess.Popen[bytes]", holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not holds():
        assert process.poll() is None, f"it ended with code {process.returncode}"
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def is_connected(process: "subprocess.Popen[bytes]", address: str) -> bool:
    """Whether the window, a child of the command, talks to this address."""
    port = int(address.rpartition(":")[2])
    windows = psutil.Process(process.pid).children(recursive=True)
    return any(
        connection.raddr and connection.raddr.port == port and connection.status == psutil.CONN_ESTABLISHED
        for child in windows
        for connection in child.net_connections("tcp")
    )


def test_a_window_shows_the_runs_of_a_daemon_at_an_address(address: str, elsewhere: Home, show: Show) -> None:
    elsewhere.create()
    shown = show(link=DaemonLink(elsewhere, target=address))
    shown.until(lambda: [run.label for run in shown.studio.runs.records()] == ["far away"])
    assert running_address(elsewhere) is None


@pytest.mark.parametrize("way", ["flag", "variable"])
def test_the_command_opens_the_window_on_that_daemon(
    address: str, elsewhere: Home, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "variable":
        monkeypatch.setenv("MOSAIC_TARGET", address)
    with window("gui", *(["--target", address] if way == "flag" else [])) as process:
        wait_for(process, lambda: is_connected(process, address))
    assert running_address(elsewhere) is None, "a daemon of its own was started"


def test_a_target_where_nothing_listens_opens_no_window(elsewhere: Home, capsys: pytest.CaptureFixture[str]) -> None:
    address = free_address()
    assert cli.main(["gui", "--target", address]) == 6
    assert f"no daemon at {address}: nothing listens there" in capsys.readouterr().err
    assert not elsewhere.root.exists()
