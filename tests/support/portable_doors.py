"""Run with MOSAIC_PORTABLE=1: each of the stand-ins for what only Linux has, by itself; prints "ok" at the end."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
import without_linux  # noqa: F401

from mosaic import operating_system
from mosaic.fastlane.ring import RingReader, RingWriter
from mosaic.fastlane.state_table import StateTable
from mosaic.spec.files.shared_files import scratch_file
from mosaic.spec.processes import caught_signals, home_claim, process_identity
from mosaic.spec.processes.unix_sockets import connect, is_of_our_user, short_address

ORPHAN = """
import os, time
from mosaic.operating_system import end_with_parent
end_with_parent(os.getppid())
print(os.getpid(), flush=True)
time.sleep(600)
"""
PARENT = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {ORPHAN!r}]).wait()"


def check_memory() -> None:
    with scratch_file() as file:
        file.write(b"abc")
        file.seek(0)
        assert file.read() == b"abc"
    ring = RingWriter.create(max_pixels=64 * 64)
    assert ring.path.parent == Path(tempfile.gettempdir())
    assert ring.path.stat().st_blocks * 512 >= ring.path.stat().st_size, "its room is not reserved"
    RingReader(ring.path).close()
    ring.close()
    table = StateTable.create(2, 3)
    table.write(1, np.arange(3.0), 4.0, 5)
    row = StateTable(os.dup(table.descriptor), 2, 3).read(1)
    assert row is not None
    assert row.state.tolist() == [0.0, 1.0, 2.0]


def check_sockets() -> None:
    with tempfile.TemporaryDirectory() as folder:
        deep = Path(folder, *["d" * 50] * 3)
        deep.mkdir(parents=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            with short_address(deep / "play.sock") as name:
                listener.bind(name)
            listener.listen()
            with connect(deep / "play.sock", timeout_s=60), listener.accept()[0] as accepted:
                assert is_of_our_user(operating_system.peer_of(accepted)[1])


def check_claims() -> None:
    root = Path("/nowhere", str(os.getpid()))
    assert home_claim.claimant(root) is None
    claim = home_claim.claim(root)
    assert home_claim.claimant(root) == os.getpid()
    with pytest.raises(home_claim.Claimed, match=str(os.getpid())):
        home_claim.claim(root)
    claim.take_askers()
    claim.close()
    assert home_claim.claimant(root) is None
    home_claim._file_of(root).unlink()


def check_processes() -> None:
    assert operating_system.available_cores() >= 1
    assert not operating_system.adopt_orphans()
    assert process_identity.identify(os.getpid()).is_alive
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert not operating_system.has_ended(child.pid)
    child.stdin.close()
    while not operating_system.has_ended(child.pid):
        time.sleep(0.01)
    assert os.waitpid(child.pid, 0)[0] == child.pid, "it was not left a zombie"
    child.returncode = 0
    leader = subprocess.Popen([sys.executable, "-c", "import sys; sys.exit(3)"], start_new_session=True)
    while (code := operating_system.exit_code_of_group(leader.pid)) is None:
        time.sleep(0.01)
    assert code == 3
    leader.returncode = code
    assert operating_system.threads() == 0, "not told here"
    operating_system.lower_priority(1)
    operating_system.lower_session_priority("1")


def check_signals() -> None:
    pid = os.getpid()
    assert not caught_signals.is_caught(pid, signal.SIGUSR1)
    before = caught_signals.answer(signal.SIGUSR1, lambda number, frame: None)
    assert caught_signals.is_caught(pid, signal.SIGUSR1)
    assert not caught_signals.is_caught(pid, signal.SIGUSR2)
    assert not caught_signals.is_caught(1, signal.SIGUSR1)
    caught_signals.answer(signal.SIGUSR1, before)
    assert not caught_signals.is_caught(pid, signal.SIGUSR1)
    caught_signals.forget(pid)


def check_end_with_parent() -> None:
    process = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    pid = int(process.stdout.readline())
    who = process_identity.identify(pid)
    process.kill()
    process.wait()
    while who.is_alive:
        time.sleep(0.05)


for check in (check_memory, check_sockets, check_claims, check_processes, check_signals, check_end_with_parent):
    check()
print("ok")
