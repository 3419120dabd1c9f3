"""Controllers of sweeps: started when a sweep has something to do, started again when they die, left alone otherwise.

A controller is a process of its own session (`mosaic.sweep`). It outlives this daemon, as workers do; the next daemon
finds it by its lock. All of this runs in a thread of its own: a sweep of a thousand trials holds up no run.
"""

import contextlib
import subprocess
import threading
import time
from dataclasses import dataclass

from mosaic.errors import MosaicError
from mosaic.log import get_logger
from mosaic.spec.processes import secret_keys
from mosaic.spec.processes.python_child import PythonChild
from mosaic.spec.run_dir import Home
from mosaic.sweep import sweep_state
from mosaic.sweep.sweep_dir import SweepDir, all_sweeps

LOOK_S = 1.0
BACKOFF_S = (1.0, 5.0, 25.0, 120.0)
"""Before each further start of one that crashes without having written a line; after the last one it is given up."""

log = get_logger()


@dataclass
class _Child:
    """The controller of one sweep, over all its starts."""

    sweep: SweepDir
    process: "subprocess.Popen[bytes] | None" = None
    crashes: int = 0
    next_start: float = 0.0
    written: int = -1
    """Bytes of trials.jsonl when it was started."""


class Controllers:
    """Of all sweeps of a home."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._children: dict[str, _Child] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="sweeps", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End the looking; controllers go on."""
        self._closing.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def see_to(self, sweep: SweepDir) -> None:
        """Something was asked of a sweep: look at it now, also if its controller was given up."""
        with self._lock:
            child = self._children.get(sweep.sweep_id)
            if child is None or child.process is None:
                self._children[sweep.sweep_id] = _Child(sweep)
        self._wake.set()

    def _loop(self) -> None:
        self._find_unfinished()
        while not self._closing.is_set():
            for child in list(self._children.values()):
                try:
                    self._look(child)
                except Exception as error:  # A border: one damaged sweep must not keep the others from their work.
                    log.error("sweep.unseen", sweep_id=child.sweep.sweep_id, error=str(error))
                    self._drop(child)
            self._wake.wait(LOOK_S)
            self._wake.clear()

    def _find_unfinished(self) -> None:
        """Sweeps whose controller lives, or was killed together with the daemon before us."""
        for sweep in all_sweeps(self._home):
            with contextlib.suppress(OSError, MosaicError):
                if sweep.has_controller or sweep_state.read(sweep).needs_controller:
                    self.see_to(sweep)

    def _look(self, child: _Child) -> None:
        if child.process is not None:
            code = child.process.poll()
            if code is None:
                return
            child.process = None
            log.info("sweep.controller_ended", sweep_id=child.sweep.sweep_id, exit_code=code)
            if code != 0 and not self._may_try_again(child, code):
                self._drop(child)
                return
        if child.sweep.has_controller or time.monotonic() < child.next_start:
            return  # Of the daemon before us, or not yet.
        if not sweep_state.read(child.sweep).needs_controller:
            self._drop(child)
            return
        child.written = _size(child.sweep)
        child.process = self._start(child.sweep)
        log.info("sweep.controller_started", sweep_id=child.sweep.sweep_id, pid=child.process.pid)

    def _start(self, sweep: SweepDir) -> "subprocess.Popen[bytes]":
        return PythonChild(
            module="mosaic.sweep",
            words=(str(sweep.root),),
            # Not for itself: it starts the daemon again that was killed, whose exporters need them.
            keys=secret_keys.ALL,
            variables={"MOSAIC_HOME": str(self._home.root), "OMP_NUM_THREADS": "1"},
        ).start_apart(sweep.log)

    def _may_try_again(self, child: _Child, code: int) -> bool:
        if code < 0 or _size(child.sweep) > child.written:
            # Killed from outside, or it got on: that is not a fault that repeats itself.
            child.crashes = 0
            return True
        if child.crashes >= len(BACKOFF_S):
            log.error("sweep.given_up", sweep_id=child.sweep.sweep_id, exit_code=code, log=str(child.sweep.log))
            return False
        child.next_start = time.monotonic() + BACKOFF_S[child.crashes]
        child.crashes += 1
        return True

    def _drop(self, child: _Child) -> None:
        with self._lock:
            if self._children.get(child.sweep.sweep_id) is child:
                del self._children[child.sweep.sweep_id]


def _size(sweep: SweepDir) -> int:
    try:
        return sweep.trials.stat().st_size
    except FileNotFoundError:
        return 0
