"""Promise 14: a second daemon, a port in use, a stale lock or socket; each with a message that says what to do."""

import os
import socket
import subprocess
import sys

import pytest

from mosaic.rpc import locate
from mosaic.rpc.client import Client
from mosaic.rpc.locate import DaemonUnavailable, running_address
from mosaic.spec.run_dir import Home


def run_daemon(home, *flags):
    return subprocess.run(
        [sys.executable, "-m", "mosaic.trainer", "--no-warm", *flags],
        env={**os.environ, "MOSAIC_HOME": str(home.root)},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_second_daemon_says_where_the_first_one_is(shared):
    second = run_daemon(shared.home)
    assert second.returncode == 1
    assert f"pid {shared.process.pid}" in second.stderr
    assert str(shared.home.socket) in second.stderr
    assert "Traceback" not in second.stderr
    assert shared.client.health().pid == shared.process.pid


def test_a_port_in_use_is_refused_and_nothing_is_left_behind(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        refused = run_daemon(Home(tmp_path), "--listen", address)
    assert refused.returncode == 1
    assert address in refused.stderr
    assert "choose another port" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert running_address(Home(tmp_path)) is None
    assert not Home(tmp_path).socket.exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--listen", "0.0.0.0:0"), "is not loopback"),
        (("--listen", "nonsense"), "is not HOST:PORT"),
        (("--listen", "127.0.0.1:99999"), "is not HOST:PORT"),
        (("--listen", "127.0.0.1:0", "--certificate", "/nowhere", "--key", "/nowhere"), "cannot be read"),
        (("--listen", "0.0.0.0:0", "--certificate", "/nowhere"), "go together"),
    ],
)
def test_bad_addresses_are_refused_with_a_sentence(tmp_path, flags, said):
    refused = run_daemon(Home(tmp_path), *flags)
    assert refused.returncode == 2
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr


def test_what_a_killed_daemon_left_behind_stops_no_daemon(daemons):
    daemon = daemons("--no-warm").start()
    assert daemon.home.socket.exists()
    daemon.kill()
    assert daemon.home.socket.exists(), "a stale socket"
    assert daemon.home.lock.read_bytes(), "a stale lock"
    with pytest.raises(DaemonUnavailable, match="no daemon runs"):
        Client(home=daemon.home, start=False)
    assert daemon.start().client.health().pid == daemon.process.pid


def test_a_client_starts_a_daemon_and_two_clients_start_one(daemons, kit):
    from threading import Thread

    daemon = daemons()
    clients: list[Client] = []
    # Other tests of this process may have started daemons of their own.
    earlier = len(locate._started)

    def connect() -> None:
        clients.append(Client(home=daemon.home))

    threads = [Thread(target=connect) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        assert len({client.health().pid for client in clients}) == 1
        # The one that lost the race ends by itself; let it, or it would take over once the other has ended.
        started = locate._started[earlier:]
        kit.eventually(lambda: [one.poll() for one in started].count(None) == 1, what="the end of the loser")
        clients[0].shutdown()
        kit.eventually(lambda: running_address(daemon.home) is None, what="its end")
    finally:
        for process in locate._started[earlier:]:
            process.terminate()
            process.wait(300)
        for client in clients:
            client.close()


def test_a_home_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    refused = run_daemon(Home(tmp_path / "file"))
    assert refused.returncode == 4
    assert str(tmp_path / "file") in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_home_with_a_very_long_path_works(tmp_path, daemons):
    root = tmp_path / ("long" * 30)
    root.mkdir()
    daemon = daemons("--no-warm", root=root).start()
    assert daemon.client.health().home == str(root)
    assert len(running_address(daemon.home)) < 108
