"""The supervisor: one loop that brings the workers in line with the records, whatever happened before."""

import shutil
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mosaic.errors import InvalidTransition, MosaicError, RunNotFound, SpoolCorrupt
from mosaic.log import get_logger
from mosaic.spec import identity, run_record, states
from mosaic.spec.run_dir import Home, RunDir, checked_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import LIVE, TERMINAL, RunState
from mosaic.trainer import launching, schedule
from mosaic.trainer.bell import Bell
from mosaic.trainer.engines.engine import Engine
from mosaic.trainer.ingest import RunIngest
from mosaic.trainer.schedule import Slots
from mosaic.trainer.store import Store

TICK_S = 0.2
PROGRESS_INTERVAL_S = 0.5
STDERR_LINES = 20

log = get_logger()


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long the supervisor waits for a worker, in seconds of the monotonic clock."""

    stop_s: float = 30.0
    """From SIGTERM to SIGKILL: time for a last checkpoint."""
    pause_s: float = 60.0
    """How long a paused run keeps its process and its resources."""


@dataclass
class _Watched:
    """What is remembered of a run between two looks; all of it can be found out again."""

    ingest: RunIngest
    stop_deadline: float | None = None
    release_deadline: float | None = None
    last_progress: float = 0.0
    news: bool = False
    """There is progress that the index does not have yet."""
    killed: bool = False
    complaints: list[str] = field(default_factory=list[str])


class Supervisor:
    """Owns every change of a run. Methods may be called from any thread; the loop runs in its own."""

    def __init__(self, home: Home, store: Store, engine: Engine, slots: Slots, bell: Bell, patience: Patience) -> None:
        self.home = home
        self.store = store
        self.engine = engine
        self.slots = slots
        self.bell = bell
        self.patience = patience
        self.target = ""
        """Where workers reach the daemon."""
        self.secrets: dict[str, dict[str, str]] = {}
        """Environment of runs that carry keys; in memory only."""
        self.submitting = threading.Lock()
        """Held from the look for a client key to the commit: two submits with one key make one run."""
        self._lock = threading.RLock()
        self._watched: dict[str, _Watched] = {}
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="supervisor", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End the loop; workers go on."""
        self._closing.set()
        self._wake.set()
        self._thread.join()
        for watched in self._watched.values():
            watched.ingest.save()

    # What people ask for.

    def get(self, run_id: str) -> RunRecord:
        record = self.store.get(checked_run_id(run_id))
        if record is None:
            raise RunNotFound(run_id)
        return record

    def add(self, records: Sequence[RunRecord]) -> list[RunRecord]:
        """Accept runs whose directories are complete; durable when this returns."""
        with self._lock:
            stored = self.store.put(records, durable=True)
        self._changed()
        return stored

    def cancel(self, run_id: str) -> RunRecord:
        with self._lock:
            record = self.get(run_id)
            if record.state in TERMINAL:
                return record
            if record.state is RunState.QUEUED or (record.state is RunState.PAUSED and not record.pid):
                return self._end(record, RunState.CANCELLED, "cancelled before it had a worker")
            if record.state is not RunState.STOPPING:
                record = self._move(record, RunState.STOPPING, cancel_asked=True, reason="cancelled by the user")
            watched = self._watch(record)
            watched.stop_deadline = time.monotonic() + self.patience.stop_s
            self._ask_to_stop(record)
            return record

    def _ask_to_stop(self, record: RunRecord) -> None:
        # The lock proves that the pid is still the worker's; without it the number may be anybody's by now.
        if record.pid and self.engine.is_alive(self._dir(record)):
            self.engine.let_go(record.pid)
            self.engine.stop(record.pid)

    def pause(self, run_id: str) -> RunRecord:
        with self._lock:
            record = self.get(run_id)
            if record.state is RunState.PAUSED:
                return record
            record = self._move(record, RunState.PAUSED, reason="paused by the user")
            self._watch(record).release_deadline = time.monotonic() + self.patience.pause_s
            if self.engine.is_alive(self._dir(record)):
                self.engine.hold(record.pid)
            return record

    def go_on(self, run_id: str) -> RunRecord:
        with self._lock:
            record = self.get(run_id)
            if record.state is RunState.RUNNING:
                return record
            if record.state is not RunState.PAUSED:
                raise InvalidTransition(f"run {run_id} is {record.state}; only a paused run can be continued")
            if record.pid:
                self._watch(record).release_deadline = None
                self.engine.let_go(record.pid)
                return self._move(record, RunState.RUNNING, reason="")
            newest = launching.newest_checkpoint(self._dir(record))
            record = self._move(record, RunState.QUEUED, reason="continued after a pause", resume_from=newest)
            self._wake.set()
            return record

    def resume(self, run_id: str, from_step: int) -> RunRecord:
        """Open a further attempt of an ended run."""
        with self._lock:
            record = self.get(run_id)
            state = states.reopen(record.state, run_id=run_id)
            checkpoint = launching.find_checkpoint(self._dir(record), from_step)
            if self.engine.is_alive(self._dir(record)):
                raise InvalidTransition(f"a worker of run {run_id} still lives; cancel it before you resume")
            fresh = {"exit_code": None, "stderr_tail": (), "ended_at": 0.0, "cancel_asked": False, "reason": "resumed"}
            record = self._change(record, durable=True, state=state, resume_from=checkpoint, **fresh)
            self._watched.pop(run_id, None)
            self._wake.set()
            return record

    def delete(self, run_id: str) -> None:
        with self._lock:
            record = self.get(run_id)
            if record.state not in TERMINAL:
                raise InvalidTransition(f"run {run_id} is {record.state}; cancel it before you delete it")
            watched = self._watched.pop(run_id, None) or _Watched(RunIngest(self.home, self._dir(record)))
            # The record first: a directory without one is taken for a run that the index has lost.
            self._dir(record).record.unlink(missing_ok=True)
            self.store.put([replace(record, deleted=True)], durable=True)
            watched.ingest.metrics.clear()
            shutil.rmtree(self._dir(record).root, ignore_errors=True)
            self._changed()

    def set_label(self, run_id: str, **changes: str | int) -> RunRecord:
        with self._lock:
            return self._change(self.get(run_id), durable=False, **changes)

    def ingest_of(self, record: RunRecord) -> RunIngest:
        """A run's events and metrics, read as far as they go."""
        with self._lock:
            watched = self._watched.get(record.run_id) or _Watched(RunIngest(self.home, self._dir(record)))
            self._watched[record.run_id] = watched
            if record.state in TERMINAL:
                watched.ingest.poll()
            return watched.ingest

    def wait_for_event(self, record: RunRecord, seq: int, timeout_s: float = 5.0) -> int:
        """Block until an event of a run is taken in, at most `timeout_s`; the newest one that is."""
        ingest = self.ingest_of(record)
        deadline = time.monotonic() + timeout_s
        while ingest.progress.last_seq < seq and (left := deadline - time.monotonic()) > 0:
            self.bell.wait(self.bell.rings, min(left, 0.1))
        return ingest.progress.last_seq

    def wake(self) -> None:
        """Something may have changed: look now rather than at the next tick."""
        self._wake.set()

    # The loop.

    def _loop(self) -> None:
        while not self._closing.is_set():
            try:
                self.tick()
            except Exception:  # A border: one bad run or a full disk must not end the supervision of all others.
                log.exception("supervisor.tick")
            self._wake.wait(TICK_S)
            self._wake.clear()

    def tick(self) -> None:
        """One look at everything."""
        for record in self.store.by_states(LIVE):
            try:
                with self._lock:
                    current = self.store.get(record.run_id)
                    if current is not None and current.state in LIVE:
                        self._look_after(current)
            except Exception:  # A border: as above, for one run.
                log.exception("supervisor.run", run_id=record.run_id)
        with self._lock:
            self._start_queued()

    def _look_after(self, record: RunRecord) -> None:
        watched = self._watch(record)
        record = self._take_events(record, watched)
        if self.engine.is_alive(self._dir(record)):
            self._keep_deadlines(self._adopt(record), watched)
        elif record.state is RunState.PAUSED and not record.pid:
            pass
        else:
            # Once more: the last events came after the look above and before the end.
            self._conclude(self._take_events(record, watched, final=True), watched)

    def _adopt(self, record: RunRecord) -> RunRecord:
        """Learn the process id of a worker that another daemon, or a person, started."""
        path = self._dir(record).worker
        if record.pid or not path.exists():
            return record
        who = identity.read(path)
        if not who.is_alive:
            return record
        log.info("run.adopted", run_id=record.run_id, pid=who.pid)
        return self._change(record, durable=False, pid=who.pid)

    def _take_events(self, record: RunRecord, watched: _Watched, *, final: bool = False) -> RunRecord:
        try:
            changed = watched.ingest.poll()
        except SpoolCorrupt as error:
            if str(error) not in watched.complaints:
                watched.complaints.append(str(error))
                log.error("events.corrupt", run_id=record.run_id, error=str(error))
            return record
        ingest = watched.ingest
        started = ingest.started_attempt >= record.attempt > 0
        if started and record.state is RunState.STARTING:
            record = self._move(record, RunState.RUNNING, reason="")
        now = time.monotonic()
        watched.news |= changed
        if watched.news and (final or now - watched.last_progress >= PROGRESS_INTERVAL_S):
            watched.news = False
            watched.last_progress = now
            record = self._store(replace(record, **vars(ingest.progress)), durable=False)
            self._changed()
        elif changed:
            self.bell.ring()
        return record

    def _keep_deadlines(self, record: RunRecord, watched: _Watched) -> None:
        now = time.monotonic()
        if record.state is RunState.STOPPING:
            if watched.stop_deadline is None:
                # A daemon that was killed in between asked already; asking twice would end the worker at once.
                watched.stop_deadline = now + self.patience.stop_s
            elif now >= watched.stop_deadline and not watched.killed:
                watched.killed = True
                log.warning("run.killed", run_id=record.run_id, pid=record.pid, after_s=self.patience.stop_s)
                self.engine.kill(record.pid, self._dir(record))
        elif record.state is RunState.PAUSED:
            if watched.release_deadline is None:
                watched.release_deadline = now + self.patience.pause_s
            elif now >= watched.release_deadline and record.pid:
                watched.release_deadline = now + self.patience.stop_s
                self._ask_to_stop(record)

    def _conclude(self, record: RunRecord, watched: _Watched) -> None:
        """The worker is gone: what does that make the run?"""
        run_dir = self._dir(record)
        code = self.engine.exit_code(record.pid) if record.pid else None
        if record.pid:
            # Whatever it started and left behind ends with it.
            self.engine.kill(record.pid, run_dir)
        ending = watched.ingest.ending if watched.ingest.started_attempt >= record.attempt else None
        if record.state is RunState.PAUSED and ending is not None and ending.completed:
            checkpoint = launching.newest_checkpoint(run_dir)
            self._change(record, durable=True, pid=0, resume_from=checkpoint, reason="paused; resources given back")
        elif record.state is RunState.STARTING and ending is None and code is None:
            # The daemon was killed between its decision and the start: nothing ran, so it may run now.
            self._change(record, durable=True, state=RunState.QUEUED, pid=0)
        else:
            state, reason = launching.verdict(record, ending, code, killed=watched.killed)
            tail = launching.last_lines(run_dir.stderr, STDERR_LINES) if state in _BAD else ()
            watched.ingest.save()
            self._end(record, state, reason, exit_code=code, stderr_tail=tail)
            self._watched.pop(record.run_id, None)
            self.secrets.pop(record.run_id, None)

    def _start_queued(self) -> None:
        queued = self.store.by_states([RunState.QUEUED])
        if not queued:
            return
        live = [run for run in self.store.by_states(LIVE) if run.pid or run.state is not RunState.PAUSED]
        for record in schedule.choose(queued, live, self.slots):
            self._start(record)

    def _start(self, record: RunRecord) -> None:
        run_dir = self._dir(record)
        # The worker counts the attempts in its own spool; the next one is the one after the last that began.
        attempt = self._watch(record).ingest.started_attempt + 1
        changes = {"attempt": attempt, "started_at": record.started_at or time.time(), "pid": 0}
        # On disk before the worker exists: a daemon that dies in between finds either no lock or a living worker.
        record = self._move(record, RunState.STARTING, reason="", gpu_ids=record.gpu_ids, **changes)
        try:
            secrets = self.secrets.get(record.run_id, {})
            launch = launching.make_launch(self.home, run_dir, record, target=self.target, secrets=secrets)
            pid = self.engine.launch(launch)
        except (MosaicError, OSError) as error:
            self._end(record, RunState.FAILED, f"the worker could not be started: {error}")
            return
        log.info("run.launched", run_id=record.run_id, pid=pid, attempt=record.attempt)
        self._change(record, durable=False, pid=pid)
        self.engine.warm_up()

    # Changes of a record.

    def _move(self, record: RunRecord, wanted: RunState, **changes: object) -> RunRecord:
        state = states.move(record.state, wanted, run_id=record.run_id)
        return self._change(record, durable=wanted in TERMINAL, state=state, **changes)

    def _end(self, record: RunRecord, state: RunState, reason: str, **changes: object) -> RunRecord:
        log.info("run.ended", run_id=record.run_id, state=state.value, reason=reason)
        return self._move(record, state, reason=reason, ended_at=time.time(), pid=0, **changes)

    def _change(self, record: RunRecord, *, durable: bool, **changes: object) -> RunRecord:
        """Write the run's own file first, then the index, then tell who waits."""
        changed = replace(record, **changes)  # type: ignore[arg-type]
        run_record.write(self._dir(record), changed.placed)
        stored = self._store(changed, durable=durable)
        self._changed()
        return stored

    def _store(self, record: RunRecord, *, durable: bool) -> RunRecord:
        return self.store.put([record], durable=durable)[0]

    def _changed(self) -> None:
        self.bell.ring()
        self._wake.set()

    def _watch(self, record: RunRecord) -> _Watched:
        if record.run_id not in self._watched:
            self._watched[record.run_id] = _Watched(RunIngest(self.home, self._dir(record)))
        return self._watched[record.run_id]

    def _dir(self, record: RunRecord) -> RunDir:
        return self.home.run(record.run_id)


_BAD = frozenset({RunState.FAILED, RunState.LOST})
