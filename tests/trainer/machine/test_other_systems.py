"""What is done where the system is not Linux, run on Linux: MOSAIC_PORTABLE=1 shuts what only Linux has."""

import ast
import os
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from mosaic import operating_system

PORTABLE = {"MOSAIC_PORTABLE": "1"}
SOURCES = Path(operating_system.__file__).parent.parent
DOORS = {
    *("memfd_create", "MFD_CLOEXEC", "posix_fallocate", "sched_getaffinity", "sched_setaffinity", "waitid", "O_PATH"),
    *("O_TMPFILE", "SO_PEERCRED", "SOCK_CLOEXEC", "SOCK_NONBLOCK", "SOCK_SEQPACKET", "O_ASYNC", "prctl", "syscall"),
    *("eventfd", "pidfd_open", "epoll", "sendfile", "splice", "copy_file_range", "fallocate", "setns", "unshare"),
    *("sigtimedwait", "sigwaitinfo", "SIGRTMIN", "process_vm_readv", "ru_maxrss"),
}
"""Names of Python's modules that macOS has not, or that mean something else there."""
PLACES = ("/proc", "/dev/shm", "/sys/", "/dev/kmsg")
KNOWN = {
    "mosaic/operating_system.py": "the one place for them",
    "cleanrl_worker/foreign/fence.py": "Landlock, behind LINUX; an audit hook elsewhere",
    "cleanrl_worker/zygote.py": "started only where orphans can be adopted",
    "mosaic/trainer/engines/warm_worker.py": "the same",
    "mosaic/trainer/engines/local_engine.py": "hands ru_maxrss to operating_system",
    "mosaic/trainer/runs/out_of_memory.py": "control groups and the kernel's log, None where there are none",
    "cleanrl_worker/sdk/memory_limits.py": "control groups, passed over where there are none",
}


def doors_of(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Attribute) and node.attr in DOORS:
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(PLACES):
            found.add(node.value)
    return found


def test_what_only_linux_has_is_asked_for_in_one_place() -> None:
    files = [file for package in ("mosaic", "cleanrl_worker") for file in (SOURCES / package).rglob("*.py")]
    found = {str(file.relative_to(SOURCES)) for file in files if doors_of(file)}
    assert found == set(KNOWN)


def test_each_stand_in_works() -> None:
    script = Path(__file__).parents[2] / "support" / "portable_doors.py"
    done = subprocess.run(
        [sys.executable, script], env={**os.environ, **PORTABLE}, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_macos_tells_who_connected() -> None:
    """Its answers, as <sys/ucred.h> and <sys/un.h> lay them out; no such kernel is here to ask."""

    class Connection:
        def getsockopt(self, level: int, option: int, size: int = 0) -> int | bytes:
            assert level == 0
            return struct.pack("=IIh2x16I", 0, 501, 1, 20, *[0] * 15)[:size] if option == 1 else 4711

    assert operating_system.peer_of_macos(Connection()) == (4711, 501)  # type: ignore[arg-type]


def test_a_run_trains_is_watched_paused_adopted_cancelled_and_resumed(daemons, kit, tmp_path: Path) -> None:
    daemon = daemons("--cpus", "2", environment=PORTABLE).start()
    client = daemon.client
    run = client.submit(kit.document(kit.ENDLESS))[0]
    pid = daemon.until(run.run_id, "running").pid
    assert not client.health().warm_workers
    assert Path(f"/proc/{pid}/environ").read_bytes().count(b"MOSAIC_PORTABLE=1") == 1
    # Its own socket for gRPC keeps its name here, and is of our user alone.
    inner = daemon.home.socket.with_name(f"{daemon.home.socket.name}.rpc")
    assert inner.stat().st_mode & 0o077 == 0
    frame = tmp_path / "frame.png"
    command = [sys.executable, "-m", "mosaic.cli", "frame", run.run_id, str(frame)]
    variables = {**os.environ, **PORTABLE, "MOSAIC_HOME": str(daemon.home.root)}
    subprocess.run(command, env=variables, check=True, timeout=300)
    assert frame.stat().st_size > 0
    assert list(Path(tempfile.gettempdir()).glob(f"mosaic-{os.getuid()}-*.ring"))
    # SIGUSR1 and SIGUSR2 do not end it: it catches both, and says so.
    client.pause(run.run_id)
    client.go_on(run.run_id)
    daemon.until(run.run_id, "running")
    adopting = daemon.restart().client
    assert adopting.get(run.run_id).pid == pid
    adopting.cancel(run.run_id)
    assert daemon.until(run.run_id, "cancelled").reason == "ended by the user after a checkpoint"
    adopting.resume(run.run_id)
    again = daemon.until(run.run_id, "running").pid
    adopting.cancel(run.run_id)
    ended = daemon.until(run.run_id, "cancelled")
    assert (ended.exit_code, ended.attempt, again != pid) == (0, 2, True)
    daemon.check_sequence(run.run_id)
    assert daemon.stop() == 0
    assert not inner.exists()
    assert not list(Path(tempfile.gettempdir()).glob(f"mosaic-{os.getuid()}-{again}.signals"))


def test_a_worker_that_catches_nothing_yet_is_ended_by_the_signal_for_it(daemons, kit) -> None:
    daemon = daemons("--cpus", "2", environment=PORTABLE).start()
    client = daemon.client
    run = client.submit(kit.document(kit.ENDLESS))[0]
    pid = kit.eventually(lambda: client.get(run.run_id).pid)
    client.cancel(run.run_id)
    # By SIGUSR2, which is sent before it to those that are held, it would end, too, and nothing would be saved.
    assert daemon.until(run.run_id, "cancelled").exit_code in (0, -signal.SIGTERM)
    assert kit.session_of(pid) == []
