"""The life of one run: read its events, adopt its worker, keep its deadlines, conclude its end."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mosaic.errors import MosaicError
from mosaic.log import get_logger
from mosaic.scripts.script import is_script
from mosaic.spec import run_record
from mosaic.spec.run_record import Placed, RunRecord
from mosaic.spec.states import TERMINAL, RunState
from mosaic.trainer.engines.engine import EngineOf
from mosaic.trainer.runs import verdicts
from mosaic.trainer.runs.run_records import Records
from mosaic.trainer.runs.run_secrets import Secrets
from mosaic.trainer.runs.verdicts import Verdict
from mosaic.trainer.runs.watched_runs import Watched, WatchedRuns

PROGRESS_INTERVAL_S = 0.5

log = get_logger()


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long the supervisor waits for a worker, in seconds of the monotonic clock."""

    stop_s: float = 30.0
    """From SIGTERM to SIGKILL: time for a last checkpoint."""
    pause_s: float = 60.0
    """How long a paused run keeps its process and its resources."""


class RunLifecycle:
    """Called by the supervisor's loop, under its lock."""

    def __init__(
        self,
        records: Records,
        watched_runs: WatchedRuns,
        engine_of: EngineOf,
        patience: Patience,
        secrets: Secrets,
        *,
        news: Callable[[], None],
    ) -> None:
        self._records = records
        self._watched_runs = watched_runs
        self._engine_of = engine_of
        self._patience = patience
        self._secrets = secrets
        self._news = news
        """Called when there are new events, but no new record."""

    def look_after(self, record: RunRecord) -> bool:
        """One look; True if there is more to do at once."""
        watched = self._watched_runs.of(record)
        if record.state is RunState.PAUSED and not record.pid:
            return False
        # Asked before the events are read: what is written before the end is then certainly read after it.
        alive = self._engine_of(record.engine).poll(self._records.handle_of(record))
        try:
            watched.news |= watched.ingest.poll()
        except OSError:
            if not alive and watched.verdict is None:
                # Judged now, while the disk is still full: once there is room again nothing tells of it.
                watched.verdict = self._judge(record, watched)
            raise
        if not alive and not watched.ingest.behind and watched.verdict is None:
            # Before anything is written: if that fails, the disk is full, which may be the very reason.
            watched.verdict = self._judge(record, watched)
        record = self._note(record, watched, final=not alive)
        if alive:
            self._keep_deadlines(self._adopt(record), watched)
        elif watched.verdict is not None:
            self._conclude(record, watched, watched.verdict)
        return watched.ingest.behind

    def ask_to_stop(self, record: RunRecord, watched: Watched) -> None:
        """Only a worker that lives: its pid may belong to another process by now."""
        engine, handle = self._engine_of(record.engine), self._records.handle_of(record)
        if engine.poll(handle):
            engine.let_go(handle)
            watched.stop_asked = engine.stop(handle)

    def _adopt(self, record: RunRecord) -> RunRecord:
        """Learn the process id of a worker that another daemon, or a person, started."""
        if record.pid:
            return record
        pid = self._engine_of(record.engine).pid_of(self._records.handle_of(record))
        if not pid:
            return record
        log.info("run.adopted", run_id=record.run_id, pid=pid)
        return self._records.change(record, durable=False, pid=pid)

    def _note(self, record: RunRecord, watched: Watched, *, final: bool) -> RunRecord:
        """Bring the record in line with the events."""
        ingest = watched.ingest
        for complaint in ingest.complaints[watched.complaints :]:
            log.error("events.corrupt", run_id=record.run_id, error=complaint)
        watched.complaints = len(ingest.complaints)
        if ingest.started_attempt >= record.attempt > 0 and record.state is RunState.STARTING:
            record = self._records.move(record, RunState.RUNNING, reason="")
        now = time.monotonic()
        if watched.news and (final or now - watched.last_progress >= PROGRESS_INTERVAL_S):
            record = self._records.progressed(record, ingest.progress)
            watched.news, watched.last_progress = False, now
        elif watched.news:
            self._news()
        return record

    def _keep_deadlines(self, record: RunRecord, watched: Watched) -> None:
        now = time.monotonic()
        if record.state is RunState.STOPPING:
            watched.stop_deadline = watched.stop_deadline or now + self._patience.stop_s
            if now >= watched.stop_deadline:
                if not watched.killed:
                    log.warning("run.killed", run_id=record.run_id, pid=record.pid, after_s=self._patience.stop_s)
                watched.killed = True
                self._engine_of(record.engine).kill(self._records.handle_of(record))
            else:
                self._ask_once(record, watched)
        elif record.state is RunState.PAUSED:
            if watched.release_deadline is None:
                # A daemon before us may have been killed before it could say so.
                self._engine_of(record.engine).hold(self._records.handle_of(record))
                watched.release_deadline = now + self._patience.pause_s
            elif now >= watched.release_deadline and not is_script(record.algo):
                # A script has no checkpoint to come back from: it keeps its resources and waits.
                self._ask_once(record, watched)

    def _ask_once(self, record: RunRecord, watched: Watched) -> None:
        """A daemon before us may have asked already, and asking twice would end the worker without a checkpoint."""
        if not watched.stop_asked and self._engine_of(record.engine).would_save(self._records.handle_of(record)):
            self.ask_to_stop(record, watched)

    def _judge(self, record: RunRecord, watched: Watched) -> Verdict:
        run_dir = self._records.dir_of(record)
        collected = self._engine_of(record.engine).collect(self._records.handle_of(record))
        ending = watched.ingest.ending if watched.ingest.started_attempt >= record.attempt else None
        tail = self._secrets.redacted(record.run_id, verdicts.last_lines(run_dir))
        return verdicts.judge(record, ending, collected, tail, killed=watched.killed, kernel=watched.kernel)

    def _ended_before(self, record: RunRecord) -> Placed | None:
        """The end that `run.json` tells and the index does not: a daemon was killed between the two."""
        try:
            placed = run_record.read(self._records.dir_of(record))
        except (OSError, MosaicError):
            return None
        return placed if placed.state in TERMINAL and placed.attempt == record.attempt else None

    def _conclude(self, record: RunRecord, watched: Watched, verdict: Verdict) -> None:
        """The worker is gone: what does that make the run?"""
        run_dir = self._records.dir_of(record)
        if verdict.exit_code is None and (ended := self._ended_before(record)) is not None:
            self._records.change(record, durable=True, **vars(ended))
        elif record.state is RunState.PAUSED and (verdict.again or _was_stopped(verdict)):
            reason = "paused; its resources are given back"
            self._records.change(record, durable=True, pid=0, resume_from="", reason=reason)
        elif record.state is RunState.STARTING and verdict.ending is None and verdict.exit_code is None:
            # The daemon was killed between its decision and the start: nothing ran, so it may run now.
            reason = verdict.again or record.reason
            self._records.change(record, durable=True, state=RunState.QUEUED, pid=0, gpu_ids=(), reason=reason)
        elif verdict.again:
            # Not a move of the run's own: its machine was taken from it.
            log.warning("run.again", run_id=record.run_id, epoch=record.epoch, reason=verdict.again)
            again: dict[str, Any] = {"pid": 0, "gpu_ids": (), "resume_from": "", "reason": verdict.again}
            self._records.change(record, durable=True, state=RunState.QUEUED, **again)
        else:
            # A cache: a full disk must not keep the run from its end.
            with contextlib.suppress(OSError):
                watched.ingest.save()
            self._secrets.retire(run_dir, [run_dir.stdout, run_dir.stderr])
            told = {"exit_code": verdict.exit_code, "stderr_tail": verdict.stderr_tail}
            self._records.end(record, verdict.state, verdict.reason, **told)
        self._engine_of(record.engine).forget(self._records.handle_of(record))
        self._watched_runs.forget(record.run_id)


def _was_stopped(verdict: Verdict) -> bool:
    return verdict.ending is not None and verdict.ending.stopped
