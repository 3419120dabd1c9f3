"""The local engine: workers as processes of this machine, forked from a pre-imported one where that is ready.

Every worker is handed the run's life lock (`mosaic.spec.life_lock`) and leads a session of its own.
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil

from mosaic.errors import InvalidTransition, MosaicError
from mosaic.log import get_logger
from mosaic.spec import identity
from mosaic.spec.life_lock import life_lock
from mosaic.spec.run_dir import RunDir
from mosaic.trainer.engines.engine import Launch

PR_SET_CHILD_SUBREAPER = 36
ZYGOTE = "cleanrl_worker.zygote"
ZYGOTE_READY_S = 60.0
FORK_REPLY_S = 10.0
REAP_S = 1.0

log = get_logger()


class LocalEngine:
    """Processes of this machine."""

    def __init__(self) -> None:
        self._exit_codes: dict[int, int] = {}
        self._launched: set[int] = set()
        self._zygote: _Zygote | None = None
        self._lock = threading.Lock()
        # Workers that the zygote forks become our own children, so that their exit codes reach us (Linux only).
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def launch(self, launch: Launch) -> int:
        with self._lock, life_lock(launch.run_dir) as lock:
            launch.run_dir.logs.mkdir(parents=True, exist_ok=True)
            with launch.run_dir.stdout.open("ab") as out, launch.run_dir.stderr.open("ab") as err:
                files = (out.fileno(), err.fileno(), lock)
                if launch.warm and self._zygote is not None and self._zygote.ready:
                    pid = self._zygote.fork(launch, files)
                    if pid is not None:
                        return self._noted(pid)
                return self._noted(_spawn(launch, files))

    def _noted(self, pid: int) -> int:
        self._exit_codes.pop(pid, None)
        self._launched.add(pid)
        return pid

    @property
    def is_warm(self) -> bool:
        return self._zygote is not None and self._zygote.ready

    def warm_up(self) -> None:
        with self._lock:
            if self._zygote is None or not self._zygote.alive:
                self._zygote = _Zygote()

    def exit_code(self, pid: int) -> int | None:
        deadline = time.monotonic() + REAP_S
        while pid not in self._exit_codes:
            try:
                found, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                # Started by an earlier daemon: its exit code went to somebody else.
                return None
            if found == pid:
                self._exit_codes[pid] = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                return None
            else:
                # A process lets go of its lock a moment before it can be waited for.
                time.sleep(0.005)
        return self._exit_codes[pid]

    def is_alive(self, run_dir: RunDir) -> bool:
        try:
            with life_lock(run_dir):
                return False
        except InvalidTransition:
            return True
        except FileNotFoundError:
            return False

    def stop(self, pid: int) -> None:
        # Only the leader: a SIGTERM to its environment processes would take them from under its last checkpoint.
        _signal(pid, signal.SIGTERM)

    def hold(self, pid: int) -> None:
        _signal(pid, signal.SIGUSR1)

    def let_go(self, pid: int) -> None:
        _signal(pid, signal.SIGUSR2)

    def kill(self, pid: int, run_dir: RunDir) -> None:
        for victim in self.session_of(pid, run_dir):
            _signal(victim, signal.SIGKILL)
        self._reap_session(pid)

    def session_of(self, pid: int, run_dir: RunDir) -> list[int]:
        """The worker and whatever it started that still lives; empty if its pid belongs to somebody else by now."""
        if pid not in self._launched:
            try:
                who = identity.read(run_dir.worker)
            except (OSError, MosaicError):
                return []
            reused = psutil.pid_exists(pid) and not who.is_alive and not _is_zombie(pid)
            if who.pid != pid or who.boot_id != identity.boot_id() or reused:
                return []
        return [found for found in psutil.pids() if _session(found) == pid and not _is_zombie(found)]

    def _reap_session(self, pid: int) -> None:
        """Orphans of a worker become our children too (we are their subreaper): none may stay a zombie."""
        deadline = time.monotonic() + REAP_S
        while zombies := [found for found in psutil.pids() if found != pid and _session(found) == pid]:
            for found in zombies:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(found, os.WNOHANG)
            if time.monotonic() > deadline:
                return
            time.sleep(0.005)

    def close(self) -> None:
        if self._zygote is not None:
            self._zygote.close()


class _Zygote:
    """A pre-imported process that forks workers on request; ends with our end of the socket."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ready = False
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", ZYGOTE, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def ready(self) -> bool:
        """Whether it has said that all is imported; does not wait."""
        if not self._ready and self.alive:
            self._socket.setblocking(False)
            with contextlib.suppress(BlockingIOError, ConnectionError):
                self._ready = self._socket.recv(16) == b"ready"
        return self._ready and self.alive

    def fork(self, launch: Launch, files: tuple[int, int, int]) -> int | None:
        """A worker's process id, or None if the zygote does not answer."""
        request = {
            "module": launch.module,
            "argv": list(launch.argv),
            "environment": dict(launch.environment),
            "cwd": str(launch.run_dir.root),
        }
        try:
            self._socket.settimeout(FORK_REPLY_S)
            socket.send_fds(self._socket, [json.dumps(request).encode()], list(files))
            return int(json.loads(self._socket.recv(64))["pid"])
        except (OSError, ValueError, KeyError) as error:
            log.warning("zygote.failed", error=repr(error))
            self.close()
            return None

    def close(self) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait()


def _spawn(launch: Launch, files: tuple[int, int, int]) -> int:
    """Cold: a new interpreter."""
    stdout, stderr, lock = files
    process = subprocess.Popen(
        [sys.executable, "-m", launch.module, *launch.argv],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        pass_fds=[lock],
        env={**os.environ, **launch.environment},
        cwd=launch.run_dir.root,
        start_new_session=True,
    )
    # Reaped by pid like all others; Popen's own destructor would warn about a child that still runs.
    process.returncode = 0
    return process.pid


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return -1


def _is_zombie(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def detect_gpus() -> list[str]:
    """Names of the NVIDIA GPUs that the driver shows."""
    found: list[str] = []
    for information in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        lines = dict(line.split(":", 1) for line in information.read_text().splitlines() if ":" in line)
        found.append(lines.get("Model", "GPU").strip())
    return found
