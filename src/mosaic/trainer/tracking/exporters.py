"""Exporters of runs: started when a run that wants one begins, started again when they crash, left alone otherwise.

An exporter is a process of its own session that follows the run's events (`mosaic.track`). It outlives this daemon, as
workers do; the next daemon finds it by its lock. Nothing that happens to it reaches the run.
"""

import contextlib
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import psutil

from mosaic.errors import MissingExtra, MosaicError
from mosaic.log import get_logger
from mosaic.scripts.script import is_script
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_list import all_runs
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState
from mosaic.track import export_state, trackers
from mosaic.track.export_state import WANDB, Export
from mosaic.track.start_exporter import end, start
from mosaic.trainer.tracking import offline_uploads
from mosaic.trainer.tracking.offline_uploads import Uploads

BACKOFF_S = (1.0, 5.0, 25.0)
"""Before each further start of one that crashed; after the last one it is given up."""
HELPERS_END_S = 15.0
"""W&B's own processes notice within seconds that their exporter was killed."""
WAITING = frozenset({RunState.QUEUED, RunState.STARTING})

log = get_logger()


@dataclass(frozen=True)
class _Look:
    """At a run's config."""

    attempt: int = 0
    changed_at: int = 0
    wanted: frozenset[str] = frozenset()


@dataclass
class _Child:
    """One export, over all its starts."""

    run_dir: RunDir
    tracker: str
    environment: Mapping[str, str]
    process: "subprocess.Popen[bytes] | None" = None
    crashes: int = 0
    next_start: float = 0.0

    @property
    def run_id(self) -> str:
        return self.run_dir.run_id


class Exporters:
    """Called by the supervisor's loop, under its lock."""

    def __init__(self, home: Home, *, retry_s: float | None = None) -> None:
        self._home = home
        self._uploads = Uploads(retry_s or offline_uploads.retry_s())
        self._children: dict[tuple[str, str], _Child] = {}
        """By run and tracker."""
        self._done: dict[str, _Look] = {}
        """The last look at the config of each run that was live."""
        self._scanned = False
        self._reap_at = 0.0
        """When the helpers of a killed exporter have ended; 0 is never."""

    def look_after(self, record: RunRecord, secrets: Mapping[str, str]) -> None:
        """A run that was live a moment ago: its exporter is started once its worker has begun."""
        if record.state in WAITING:
            return
        run_dir, last = self._home.run(record.run_id), self._done.get(record.run_id, _Look())
        again = last.attempt >= record.attempt
        # A script may ask for a tracker while it runs: its worker then completes the config.
        changed_at = _changed_at(run_dir) if is_script(record.algo) else 0
        if changed_at == last.changed_at if again else self._has_child(record.run_id):
            return
        wanted = _wanted(run_dir)
        self._done[record.run_id] = _Look(record.attempt, changed_at, frozenset(wanted))
        for tracker in wanted:
            if not again or tracker not in last.wanted:
                self._begin(run_dir, tracker, {**secrets, **_told(run_dir, tracker)})

    def tick(self) -> None:
        """Start what is due, and see to what has ended."""
        if not self._scanned:
            self._scanned = True
            self._find_unfinished()
        self._uploads.tick()
        now = time.monotonic()
        if 0 < self._reap_at <= now:
            self._reap_at = 0.0
            _reap_helpers()
        for child in list(self._children.values()):
            if child.process is not None:
                code = child.process.poll()
                if code is not None:
                    self._ended(child, code)
            elif now >= child.next_start and not export_state.is_busy(child.run_dir, child.tracker):
                self._start(child)

    def forget(self, run_id: str) -> None:
        """The run is deleted: end what still works on its files."""
        self._done.pop(run_id, None)
        self._uploads.forget(run_id)
        for key in [key for key in self._children if key[0] == run_id]:
            child = self._children.pop(key)
            if child.process is not None:
                end(child.process)

    def _has_child(self, run_id: str) -> bool:
        return any(of == run_id for of, _ in self._children)

    def _begin(self, run_dir: RunDir, tracker: str, secrets: Mapping[str, str]) -> None:
        if tracker == WANDB:
            self._uploads.forget(run_dir.run_id)
        self._children[run_dir.run_id, tracker] = _Child(run_dir, tracker, self._environment(secrets))

    def _environment(self, secrets: Mapping[str, str]) -> Mapping[str, str]:
        return {**os.environ, "MOSAIC_HOME": str(self._home.root), **secrets}

    def _start(self, child: _Child) -> None:
        try:
            child.process = start(child.run_dir, child.environment, tracker=child.tracker)
        except (OSError, MosaicError) as error:
            log.warning("export.not_started", run_id=child.run_id, tracker=child.tracker, error=str(error))
            self._try_later(child, str(error))
        else:
            log.info("export.started", run_id=child.run_id, tracker=child.tracker, pid=child.process.pid)

    def _ended(self, child: _Child, code: int) -> None:
        child.process = None
        if code < 0:
            self._reap_at = time.monotonic() + HELPERS_END_S
        log.info("export.ended", run_id=child.run_id, tracker=child.tracker, exit_code=code)
        if code == 0 or code == MissingExtra.exit_code:
            del self._children[child.run_id, child.tracker]
            if child.tracker == WANDB:
                with contextlib.suppress(OSError, MosaicError):
                    self._uploads.consider(child.run_dir, child.environment)
        else:
            self._try_later(child, f"the exporter ended with exit code {code}")

    def _try_later(self, child: _Child, reason: str) -> None:
        if child.crashes < len(BACKOFF_S) and child.run_dir.config.exists():
            child.next_start = time.monotonic() + BACKOFF_S[child.crashes]
            child.crashes += 1
            return
        del self._children[child.run_id, child.tracker]
        log.error("export.given_up", run_id=child.run_id, tracker=child.tracker, reason=reason)
        with contextlib.suppress(OSError, MosaicError):
            last = export_state.read(child.run_dir, child.tracker) or Export(state="failed")
            why = last.why if last.state == "failed" and last.why else reason
            advice = f"logs/{child.tracker}.log, 'mosaic track --to {child.tracker}' tries again"
            why = f"{why} (given up after {child.crashes + 1} starts; {advice})"
            export_state.write(child.run_dir, replace(last, state="failed", why=why), child.tracker)

    def _find_unfinished(self) -> None:
        """Exports whose process was killed together with the daemon before us, and those that wait for the server."""
        for run_dir in all_runs(self._home):
            for tracker in trackers.everywhere():
                with contextlib.suppress(OSError, MosaicError):
                    found = export_state.read(run_dir, tracker)
                    if found is None:
                        continue
                    if found.state in export_state.UNDER_WAY and not export_state.is_busy(run_dir, tracker):
                        self._begin(run_dir, tracker, _told(run_dir, tracker))
                    elif tracker == WANDB:
                        self._uploads.consider(run_dir, self._environment({}))


def _told(run_dir: RunDir, tracker: str) -> dict[str, str]:
    """What the exporter before this one was told, or what the script says that asks for it."""
    try:
        found = export_state.read(run_dir, tracker)
    except (OSError, MosaicError):
        return {}
    is_offline = (
        found is not None and found.state in export_state.UNDER_WAY and offline_uploads.is_offline_by_choice(found)
    )
    return {"WANDB_MODE": "offline"} if is_offline else {}


def _changed_at(run_dir: RunDir) -> int:
    try:
        return run_dir.config.stat().st_mtime_ns
    except OSError:
        return 0


def _wanted(run_dir: RunDir) -> list[str]:
    try:
        return trackers.wanted(run_dir)
    except (OSError, MosaicError) as error:
        log.warning("export.unknown", run_id=run_dir.run_id, error=str(error))
        return []


def _reap_helpers() -> None:
    """W&B's processes of a killed exporter become our children (we are their subreaper): none may stay a zombie."""
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error, ChildProcessError):
            if child.name().startswith("wandb-") and child.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(child.pid, os.WNOHANG)
