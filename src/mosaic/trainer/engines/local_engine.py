"""The local engine: workers as processes of this machine, forked from a pre-imported one where that is ready.

Every worker is handed the run's life lock (`mosaic.spec.processes.life_lock`) and leads a session of its own. Whether
it lives is asked of the kernel: of our own child by waiting for it, of one that an earlier daemon started by its
identity (pid, start time, boot id), and of one that has not said yet who it is by the lock.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import psutil

from mosaic import operating_system
from mosaic.errors import MosaicError, Problem
from mosaic.spec.files.shared_files import is_locked, scratch_file
from mosaic.spec.logs import log_times
from mosaic.spec.processes import caught_signals, process_identity
from mosaic.spec.processes.life_lock import life_lock
from mosaic.spec.processes.process_identity import ProcessIdentity
from mosaic.spec.processes.python_child import NOWHERE, PythonChild
from mosaic.spec.run_config import TrainRunConfig
from mosaic.spec.run_dir import RunDir
from mosaic.spec.run_record import RunRecord
from mosaic.trainer.engines.engine import Collected, Handle, Launch, Probe, Surroundings
from mosaic.trainer.engines.separate_process import LocalApart
from mosaic.trainer.engines.warm_worker import WarmWorker
from mosaic.trainer.machine import gpus
from mosaic.trainer.runs import out_of_memory, schedule
from mosaic.trainer.runs.out_of_memory import Usage
from mosaic.trainer.runs.schedule import Slots

REAP_S = 1.0
ZYGOTE_READY_S = 60.0


class LocalEngine:
    """Processes of this machine."""

    runs_here = True

    def __init__(self, _: Surroundings | None = None) -> None:
        self._children: set[int] = set()
        """Workers that we started and have not waited for yet: their pids cannot belong to another process."""
        self._exit_codes: dict[int, int] = {}
        self._usages: dict[int, Usage] = {}
        self._zygote: WarmWorker | None = None
        self._lock = threading.Lock()
        self._adopts = operating_system.adopt_orphans()
        """Workers that the zygote forks become our own children, so that their exit codes reach us."""

    def misfits(self, config: TrainRunConfig, slots: Slots) -> Sequence[Problem]:
        if config.resources.gpus <= slots.gpus:
            return ()
        return [Problem("--gpus", f"{config.resources.gpus:g} asked for, this machine has {slots.gpus}")]

    def choose(self, queued: Sequence[RunRecord], live: Sequence[RunRecord], slots: Slots) -> Sequence[RunRecord]:
        return schedule.choose(queued, live, slots)

    def probe(self) -> Probe:
        memory = psutil.virtual_memory().total / 2**30
        found = [f"{operating_system.available_cores()} cores, {memory:.0f} GiB of memory", *gpus.names()]
        return Probe(found=found, start="mosaic train ppo")

    def launch(self, launch: Launch) -> Handle:
        with self._lock, life_lock(launch.run_dir) as lock:
            launch.run_dir.logs.mkdir(parents=True, exist_ok=True)
            run_dir = launch.run_dir
            log_times.mark_all(run_dir)
            with run_dir.open(run_dir.stdout, append=True) as out, run_dir.open(run_dir.stderr, append=True) as err:
                files = (out.fileno(), err.fileno(), lock)
                pid = self._fork(launch, files) or _spawn(launch, files)
            self._exit_codes.pop(pid, None)
            self._usages.pop(pid, None)
            self._children.add(pid)
            return Handle(run_dir=run_dir, engine=launch.engine, epoch=launch.epoch, pid=pid)

    def start_apart(self, module: str, argv: Sequence[str], environment: Mapping[str, str], cwd: Path) -> LocalApart:
        output = scratch_file()
        try:
            with self._lock, Path(os.devnull).open("ab") as nowhere:
                files = (output.fileno(), output.fileno(), nowhere.fileno())
                pid = self._fork_warm(module, argv, environment, cwd, files)
            return LocalApart(pid or _spawn_apart(module, argv, environment, cwd, output), output)
        except BaseException:
            output.close()
            raise

    def _fork(self, launch: Launch, files: tuple[int, int, int]) -> int | None:
        if not launch.warm:
            return None
        return self._fork_warm(launch.module, launch.argv, launch.environment, launch.run_dir.root, files)

    def _fork_warm(
        self, module: str, argv: Sequence[str], environment: Mapping[str, str], cwd: Path, files: tuple[int, int, int]
    ) -> int | None:
        """None if there is no warm process that could."""
        if self._zygote is None or not self._zygote.ready or not self._zygote.usable:
            return None
        return self._zygote.fork(module, argv, environment, cwd, files)

    @property
    def is_warm(self) -> bool:
        return self._zygote is not None and self._zygote.ready

    def warm_up(self) -> None:
        """Nothing where orphans are not ours: how a worker of the zygote ends would never be known."""
        if not self._adopts:
            return
        with self._lock:
            if self._zygote is not None and not self._zygote.usable:
                self._zygote.close()
                self._zygote = None
            if self._zygote is None:
                self._zygote = WarmWorker()

    def warm_output_of(self, module: str, words: Sequence[str] = (), *, timeout_s: float | None = None) -> bytes | None:
        """What a module prints that is run in a fork of the zygote, once that is ready; None if it did not work.

        With a limit of seconds the zygote is not waited for: a new process is there sooner than one that still imports.
        """
        zygote = self._zygote
        if zygote is None or not zygote.wait_until_ready(ZYGOTE_READY_S if timeout_s is None else 0):
            return None
        with scratch_file() as out, Path(os.devnull).open("ab") as nowhere:
            with self._lock:
                pid = zygote.fork(module, words, {}, NOWHERE, (out.fileno(), nowhere.fileno(), nowhere.fileno()))
            if pid is None:
                return None
            status = _wait(pid, timeout_s)
            out.seek(0)
            return out.read() if status == 0 else None

    def poll(self, handle: Handle) -> bool:
        run_dir, pid = handle.run_dir, handle.pid
        if pid in self._children:
            try:
                return not operating_system.has_ended(pid)
            except ChildProcessError:
                self._children.discard(pid)
        who = _identity(run_dir)
        if who is not None and who.pid == pid:
            return who.is_alive
        return is_locked(run_dir.life_lock)

    def pid_of(self, handle: Handle) -> int:
        who = _identity(handle.run_dir)  # Not written yet, or damaged: the life lock tells that it lives.
        return who.pid if who is not None and who.is_alive else 0

    def stop(self, handle: Handle) -> bool:
        if not handle.pid:
            return False
        # Only the leader: a SIGTERM to its environment processes would take them from under its last checkpoint.
        _signal(handle.pid, signal.SIGTERM)
        return True

    def would_save(self, handle: Handle) -> bool:
        """A worker catches SIGTERM once it can save, not after the first one (`cleanrl_worker.sdk.stop_and_hold`)."""
        return caught_signals.is_caught(handle.pid, signal.SIGTERM)

    def hold(self, handle: Handle) -> None:
        # SIGUSR1 and SIGUSR2 kill a process that has no handler for them.
        if caught_signals.is_caught(handle.pid, signal.SIGUSR1):
            _signal(handle.pid, signal.SIGUSR1)

    def let_go(self, handle: Handle) -> None:
        if caught_signals.is_caught(handle.pid, signal.SIGUSR2):
            _signal(handle.pid, signal.SIGUSR2)

    def kill(self, handle: Handle) -> None:
        for victim in self.session_of(handle.pid, handle.run_dir):
            _signal(victim, signal.SIGKILL)

    def collect(self, handle: Handle) -> Collected:
        pid = handle.pid
        if not pid:
            return Collected()
        # The session before the leader: once that is waited for, its pid may be given to another process.
        self.kill(handle)
        self._reap_session(pid)
        caught_signals.forget(pid)
        if pid in self._children:
            limit = out_of_memory.address_limit_of(pid)
            _, status, used = os.wait4(pid, 0)
            self._children.discard(pid)
            self._usages[pid] = Usage(peak_bytes=operating_system.peak_bytes(used.ru_maxrss), address_limit_bytes=limit)
            self._exit_codes[pid] = os.waitstatus_to_exitcode(status)
        return Collected(exit_code=self._exit_codes.get(pid), usage=self._usages.get(pid, Usage()))

    def forget(self, handle: Handle) -> None:
        self._exit_codes.pop(handle.pid, None)
        self._usages.pop(handle.pid, None)

    def session_of(self, pid: int, run_dir: RunDir) -> list[int]:
        """The worker and its living children; empty if its pid belongs to another process by now."""
        if pid not in self._children:
            who = _identity(run_dir)
            if who is None or who.pid != pid or who.boot_id != process_identity.boot_id():
                return []
            if psutil.pid_exists(pid) and not who.is_alive and not _is_zombie(pid):
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


def _spawn(launch: Launch, files: tuple[int, int, int]) -> int:
    """Cold: a new interpreter."""
    stdout, stderr, lock = files
    # Libraries write their own logs into the working directory (MuJoCo does): they belong to the run.
    child = PythonChild(
        module=launch.module, words=tuple(launch.argv), variables=launch.environment, cwd=launch.run_dir.root
    )
    process = child.popen(
        stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, pass_fds=[lock], start_new_session=True
    )
    # Reaped by pid like all others; Popen's own destructor would warn about a child that still runs.
    process.returncode = 0
    return process.pid


def _wait(pid: int, timeout_s: float | None) -> int:
    """The status of a child that ends, or that is ended with all that it started when its time is over."""
    if timeout_s is not None:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return status
            time.sleep(0.005)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def _spawn_apart(module: str, argv: Sequence[str], environment: Mapping[str, str], cwd: Path, output: IO[bytes]) -> int:
    child = PythonChild(module=module, words=tuple(argv), variables=environment, cwd=cwd)
    process = child.popen(stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
    process.returncode = 0  # As above.
    return process.pid


def _identity(run_dir: RunDir) -> ProcessIdentity | None:
    try:
        return process_identity.read(run_dir.worker)
    except (OSError, MosaicError):
        return None


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
