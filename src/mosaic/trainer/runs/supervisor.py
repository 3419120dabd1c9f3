"""The supervisor: one loop that brings the workers in line with the records, whatever happened before."""

import contextlib
import errno
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mosaic.errors import HomeUnusable, InvalidTransition, MosaicError
from mosaic.log import get_logger
from mosaic.spec import run_record, states
from mosaic.spec.files import disk_room
from mosaic.spec.processes.process_identity import ProcessIdentity
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import LIVE, TERMINAL, RunState
from mosaic.trainer.agents.leases import OldStart
from mosaic.trainer.engines.engine import EngineOf
from mosaic.trainer.index import directory_reader
from mosaic.trainer.index.index_builder import Indexing, is_tended
from mosaic.trainer.index.index_store import REFUSED, Store
from mosaic.trainer.index.ingest import RunIngest
from mosaic.trainer.machine.repeated_errors import RepeatedErrors
from mosaic.trainer.runs import branched_run, changed_code, resume_checkpoint, submit
from mosaic.trainer.runs.run_alerts import RunAlerts
from mosaic.trainer.runs.run_lifecycle import Patience, RunLifecycle
from mosaic.trainer.runs.run_records import Records
from mosaic.trainer.runs.run_secrets import Secrets
from mosaic.trainer.runs.schedule import Slots
from mosaic.trainer.runs.submit import Accepted, CallerGone
from mosaic.trainer.runs.watched_runs import WatchedRuns
from mosaic.trainer.runs.worker_command import Launching
from mosaic.trainer.serving.change_signal import ChangeSignal
from mosaic.trainer.tracking.exporters import Exporters

TICK_S = 0.2
SCAN_INTERVAL_S = 2.0
RELEASE_WAIT_S = 10.0
END_WAIT_S = 5.0
"""How long a resume waits for processes of an attempt that has ended."""
MOST_AT_ONCE = 64
"""Queued runs that an engine of other machines is asked about at once."""
WRITE_INTERVAL_S = 1.0
"""How often it is tried to write down what the disk has refused."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_FRESH: dict[str, Any] = {"exit_code": None, "stderr_tail": (), "ended_at": 0.0, "cancel_asked": False}
"""A further attempt begins without the end of the one before."""

log = get_logger()


class Supervisor:
    """Owns every change of a run. Methods may be called from any thread; the loop runs in its own."""

    def __init__(
        self,
        home: Home,
        store: Store,
        engine_of: EngineOf,
        slots: Slots,
        change_signal: ChangeSignal,
        patience: Patience,
    ) -> None:
        self.home = home
        self.store = store
        self._engine_of = engine_of
        self.slots = slots
        self.change_signal = change_signal
        self.patience = patience
        self.target = ""
        """Where workers reach the daemon."""
        self.warm = True
        """Keep a pre-imported worker ready for the next start."""
        self.secrets = Secrets()
        self._submitting = threading.Lock()
        """Held from the look for a client key to the commit: two submits with one key make one run."""
        self._lock = threading.RLock()
        self._records = Records(home, store, self._changed)
        self._watched_runs = WatchedRuns(home)
        self._run_lifecycle = RunLifecycle(
            self._records, self._watched_runs, engine_of, patience, self.secrets, news=change_signal.ring
        )
        self._launching = Launching(home, cpus=slots.cpus)
        self._exporters = Exporters(home)
        self.alerts = RunAlerts(home, store.get, self._watch_of, tell=change_signal.ring)
        self._removed = directory_reader.Removed(home, store, engine_of)
        self.indexing = Indexing(
            home, store, engine_of("local"), lock=self._lock, read_on=self._read_on, tell=self._changed
        )
        self._records.bring = self.indexing.bring
        self._complaints = RepeatedErrors()
        self._next_scan = 0.0
        self._next_write = 0.0
        self.waiting_for_room = ""
        """Why no queued run is started, if the disk is the reason."""
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="supervisor", daemon=True)

    def start(self) -> None:
        # The folders were listed a moment ago (`reindex.clear`, `Indexing.start`).
        self._next_scan = time.monotonic() + SCAN_INTERVAL_S
        self.alerts.start()
        self._thread.start()

    def close(self, *, save: bool = True) -> None:
        """End the loop; workers go on. Without `save` nothing more is written: there is no home any more."""
        self.indexing.close()
        self._closing.set()
        self._wake.set()
        self._thread.join()
        self.alerts.close()
        if save:
            with self._lock:
                self._save_all()

    def _save_all(self) -> None:
        try:
            self._watched_runs.save()
        except OSError as error:  # a cache, which the next daemon makes anew
            log.warning("metrics.not_saved", error=str(error))
        self.write_held()
        if lost := self.unwritten():
            log.error("records.lost", run_ids=[record.run_id for record in lost])

    # What users ask for.

    def get(self, run_id: str) -> RunRecord:
        return self._records.get(run_id)

    def runs_here(self, record: RunRecord) -> bool:
        """Whether it takes slots of this machine."""
        return self._engine_of(record.engine).runs_here

    def counts_on(self, run_id: str, epoch: int) -> bool:
        """Whether this start of a run is its newest one and goes on."""
        record = self.store.get(run_id)
        return record is not None and record.state in LIVE and record.epoch == epoch

    def indexed(self, counts: Mapping[str, int]) -> tuple[int, int]:
        """Runs that the index has whole and runs of the home, given how many are listed in each state."""
        unlisted, unread = self.indexing.missing
        listed = sum(counts.values())
        return max(listed - unread, 0), listed + unlisted

    def accept(
        self, accepted: Sequence[Accepted], *, client_key: str, is_wanted: Callable[[], bool]
    ) -> tuple[list[RunRecord], bool]:
        """Make the runs of a submit once, however often it is sent; whether an earlier one with its key made some."""
        # Before that an earlier run with this key, or with a higher id, may not be known.
        self.indexing.wait_until_listed(is_wanted)
        with self._submitting:
            if not is_wanted():
                # The caller has given up, and asks again with the same key if the run is still wanted.
                raise CallerGone
            known = self.store.by_key(client_key) if client_key else []
            missing = submit.still_missing(accepted, known)
            if known and (not missing or len(known) >= len(accepted)):
                return known, True
            # Before anything is made: a worker would fail at once where there is less.
            disk_room.check(self.home.runs)
            records = submit.write(self.home, missing, after=self.store.newest_id)
            for record, item in zip(records, missing, strict=True):
                self.secrets.keep(record.run_id, item.secrets)
            return [*known, *self.add(records)], bool(known)

    def add(self, records: Sequence[RunRecord]) -> list[RunRecord]:
        """Accept runs whose directories are complete; durable when this returns, and nothing of them if it raises."""
        try:
            with self._lock:
                stored = self.store.put(records, durable=True)
        except BaseException:
            submit.take_back(self.home, records)
            raise
        self._changed()
        return stored

    def cancel(self, run_id: str) -> RunRecord:
        with self._lock:
            record = self.get(run_id)
            if record.state in TERMINAL:
                return record
            if record.state is RunState.QUEUED or (record.state is RunState.PAUSED and not record.pid):
                return self._records.end(record, RunState.CANCELLED, "cancelled while it had no worker")
            watched = self._watched_runs.of(record)
            if record.state is not RunState.STOPPING:
                reason = "cancelled by the user"
                record = self._records.move(record, RunState.STOPPING, cancel_asked=True, reason=reason)
                watched.stop_deadline = time.monotonic() + self.patience.stop_s
                if not watched.stop_asked:
                    self._run_lifecycle.ask_to_stop(record, watched)
            return record

    def pause(self, run_id: str) -> RunRecord:
        with self._lock:
            record = self.get(run_id)
            if record.state is RunState.PAUSED:
                return record
            if record.kind != "train":
                raise InvalidTransition(f"run {run_id} is not a training run; it cannot be paused, only cancelled")
            record = self._records.move(record, RunState.PAUSED, reason="paused by the user")
            self._watched_runs.of(record).release_deadline = time.monotonic() + self.patience.pause_s
            if self._engine_of(record.engine).poll(self._records.handle_of(record)):
                self._engine_of(record.engine).hold(self._records.handle_of(record))
            return record

    def go_on(self, run_id: str) -> RunRecord:
        deadline = time.monotonic() + RELEASE_WAIT_S
        while True:
            with self._lock:
                record = self.get(run_id)
                if record.state is RunState.RUNNING:
                    return record
                if record.state is not RunState.PAUSED:
                    raise InvalidTransition(f"run {run_id} is {record.state}; only a paused run can be continued")
                if not record.pid:
                    reason = "continued after a pause"
                    return self._records.move(record, RunState.QUEUED, reason=reason, resume_from="")
                watched = self._watched_runs.of(record)
                if not watched.stop_asked:
                    watched.release_deadline = None
                    self._engine_of(record.engine).let_go(self._records.handle_of(record))
                    return self._records.move(record, RunState.RUNNING, reason="")
            # It is just saving, to give its resources back: it goes on from that checkpoint.
            if time.monotonic() > deadline:
                raise InvalidTransition(f"run {run_id} is still giving its resources back; continue it in a moment")
            self.change_signal.wait(self.change_signal.rings, 0.1)

    def resume(
        self, run_id: str, from_step: int | None = None, *, discard_newer: bool = False, client_key: str = ""
    ) -> RunRecord:
        """Open a further attempt of an ended run; from an older checkpoint, a new run, unless newer ones may go."""
        if client_key and (known := self.store.by_key(client_key)):
            return known[0]
        self._wait_for_the_end(self.get(run_id))
        before = self._resumable(run_id)
        run_dir = self._records.dir_of(before)
        # Outside the lock: checkpoints are read to see that they are whole.
        start = (
            resume_checkpoint.newest(run_dir) if from_step is None else resume_checkpoint.of_step(run_dir, from_step)
        )
        start = replace(start, remarks=(*start.remarks, *changed_code.check(self.home, before, start.step)))
        if start.newer and not discard_newer:
            return self._branch(run_id, start, client_key)
        with self._lock:
            record = self._resumable(run_id)
            disk_room.check(run_dir.root)
            chosen = "" if from_step is None else run_dir.relative(run_dir.checkpoint(start.step))
            reason = "; ".join(["resumed", *start.remarks])
            fresh: dict[str, Any] = {**_FRESH, "reason": reason, "resume_from": chosen}
            return self._records.change(record, durable=True, must_write=True, state=RunState.QUEUED, **fresh)

    def _wait_for_the_end(self, record: RunRecord) -> None:
        """What a worker started may end a moment after the worker, and holds the lock of the run until then."""
        deadline = time.monotonic() + END_WAIT_S
        handle = self._records.handle_of(record)
        while record.state in TERMINAL and self._engine_of(record.engine).poll(handle) and time.monotonic() < deadline:
            self.change_signal.wait(self.change_signal.rings, 0.05)

    def _resumable(self, run_id: str) -> RunRecord:
        record = self.get(run_id)
        states.reopen(record.state, run_id=run_id)
        if self._engine_of(record.engine).poll(self._records.handle_of(record)):
            raise InvalidTransition(f"a worker of run {run_id} still lives; stop it before you resume")
        return record

    def _branch(self, run_id: str, start: resume_checkpoint.Start, client_key: str) -> RunRecord:
        with self._submitting:
            known = self.store.by_key(client_key) if client_key else []
            if known:
                return known[0]
            with self._lock:
                parent = self._resumable(run_id)
            disk_room.check(self.home.runs)
            new_id = submit.next_id(self.store.newest_id)
            record = branched_run.write(self.home, parent, start.step, run_id=new_id, client_key=client_key)
            return self.add([replace(record, reason="; ".join([record.reason, *start.remarks]))])[0]

    def delete(self, run_id: str) -> None:
        with self._lock:
            record = self.get(run_id)
            if record.state not in TERMINAL:
                raise InvalidTransition(f"run {run_id} is {record.state}; cancel it before you delete it")
            run_dir = self._records.dir_of(record)
            try:
                # Renamed first: whatever happens next, it is not found as a run that the index has lost.
                doomed = directory_reader.set_aside(run_dir)
            except OSError as error:
                if error.errno not in NO_ROOM:
                    raise
                # A new name needs room, too. Removed here and now, before the loop can find it.
                shutil.rmtree(run_dir.root)
                doomed = None
            # A full disk does not keep it in the list: what follows makes the room to write that down.
            self._records.remove(record)
            self._forget(run_id)
        if doomed is not None:
            shutil.rmtree(doomed, ignore_errors=True)
        self.wake()

    def _forget(self, run_id: str) -> None:
        """What lies outside the directory of a run that is gone."""
        self._watched_runs.forget(run_id)
        self.secrets.forget(run_id)
        self._exporters.forget(run_id)
        for path in (*self.home.configs.glob(f"*-{run_id}*.json"), self.home.starts / f"{run_id}.json"):
            path.unlink(missing_ok=True)
        shutil.rmtree(self.home.metrics / run_id, ignore_errors=True)

    def set_label(
        self, run_id: str, *, add_tags: Sequence[str] = (), remove_tags: Sequence[str] = (), **changes: str | int
    ) -> RunRecord:
        with self._lock:
            record = self.get(run_id)
            tags = run_record.with_tags(record, add=add_tags, remove=remove_tags)
            return self._records.change(record, durable=False, must_write=True, tags=tags, **changes)

    def unwritten(self) -> list[RunRecord]:
        """Records that are in memory only, because the disk refuses them."""
        return self.store.held()

    def write_held(self) -> None:
        """Try to write them down."""
        with self._lock:
            self.secrets.retry()
            for record in self.store.held():
                try:
                    self._records.write_held(record)
                except REFUSED as error:
                    self._complaints.tell("record.unwritten", error, run_id=record.run_id)

    def ingest_of(self, record: RunRecord) -> RunIngest:
        """A run's events and metrics, read as far as they go."""
        while True:
            ingest = self._read_on(record)
            if record.state not in TERMINAL or not ingest.behind:
                return ingest

    def _read_on(self, record: RunRecord) -> RunIngest:
        """The ingest of a run; of one without a worker, some more of its events are read: no other thread does that."""
        with self._lock:
            ingest = self._watched_runs.of(record).ingest
            if not is_tended(record) and ingest.poll() and not ingest.behind:
                with contextlib.suppress(OSError):  # A cache: it is read again where it cannot be kept.
                    ingest.save()
            return ingest

    def register(self, run_id: str, who: ProcessIdentity) -> bool:
        """Whether this worker may go on: not if its attempt has been superseded."""
        with self._lock:
            record = self.get(run_id)
            if record.state in TERMINAL and who.attempt > record.attempt and who.is_alive:
                # A person has resumed it by hand: an ended run that trains again must not look ended.
                fresh: dict[str, Any] = {**_FRESH, "reason": "resumed outside the daemon", "pid": who.pid}
                self._records.change(record, durable=True, state=RunState.RUNNING, attempt=who.attempt, **fresh)
                return True
            return record.state not in TERMINAL and who.attempt >= record.attempt

    def wait_for_event(self, run_id: str, seq: int, timeout_s: float = 5.0) -> int:
        """Block until an event of a run is taken in, at most `timeout_s`; the newest one that is."""
        deadline = time.monotonic() + timeout_s
        while True:
            heard = self.change_signal.rings
            last = self.ingest_of(self.get(run_id)).last_seq
            if last >= seq or (left := deadline - time.monotonic()) <= 0:
                return last
            self.change_signal.wait(heard, min(left, 0.5))

    def wake(self) -> None:
        """Something may have changed: look now rather than at the next tick."""
        self._wake.set()

    # The loop.

    def _loop(self) -> None:
        while not self._closing.is_set():
            busy = False
            try:
                busy = self.tick()
            except Exception as error:  # A border: a full disk must not end the supervision.
                self._complaints.tell("supervisor.tick", error)
            if not busy:
                self._wake.wait(TICK_S)
            self._wake.clear()

    def tick(self) -> bool:
        """One look at everything; True if there is more to do at once."""
        busy = False
        for record in self.store.by_states(LIVE):
            try:
                with self._lock:
                    current = self.store.get(record.run_id)
                    if current is not None and current.state in LIVE:
                        keys = self.secrets.of(current.run_id)
                        self.alerts.follow(current, self._watched_runs.of(current).ingest)
                        busy |= self._run_lifecycle.look_after(current)
                        self._exporters.look_after(self.get(current.run_id), keys)
            except Exception as error:  # A border: as above, for one run.
                self._complaints.tell("supervisor.run", error, run_id=record.run_id)
        for event, step in (
            ("supervisor.held", self._write_held_now_and_then),
            ("supervisor.scan", self._take_in_orphans),
            ("supervisor.queue", self._start_queued),
            ("supervisor.export", self._tick_exporters),
            ("supervisor.alerts", self._tick_alerts),
        ):
            try:
                step()
            except (
                Exception
            ) as error:  # A border: as above, so that one of them cannot keep the others from their work.
                self._complaints.tell(event, error)
        return busy

    def _write_held_now_and_then(self) -> None:
        now = time.monotonic()
        if now >= self._next_write:
            self._next_write = now + WRITE_INTERVAL_S
            self.write_held()

    def _tick_exporters(self) -> None:
        # At first it looks into every run: later, if the home is large.
        if self.indexing.is_listed:
            with self._lock:
                self._exporters.tick()

    def _tick_alerts(self) -> None:
        if self.indexing.is_listed:
            with self._lock:
                self.alerts.tick()

    def _watch_of(self, record: RunRecord) -> RunIngest:
        """Of a run that has ended, read to its end."""
        ingest = self._watched_runs.of(record).ingest
        ingest.catch_up()
        return ingest

    def _take_in_orphans(self) -> None:
        now = time.monotonic()
        if now < self._next_scan:
            return
        self._next_scan = now + SCAN_INTERVAL_S
        # A submit that is being written is not an orphan.
        if self._submitting.acquire(blocking=False):
            try:
                with self._lock:
                    gone = self._removed.take_out()
                    for run_id in gone:
                        log.info("run.gone", run_id=run_id)
                        self._forget(run_id)
                    self.indexing.scan()
                    if gone:
                        self._changed()
            finally:
                self._submitting.release()

    def _start_queued(self) -> None:
        with self._lock:
            if not self.indexing.is_listed:
                return  # An earlier run, or one that takes slots, may not be known yet.
            for name in self.store.engines_of_queue():
                try:
                    self._start_queued_of(name)
                except Exception as error:  # A border: an engine that fails does not hold back those after it.
                    self._complaints.tell("supervisor.queue", error, engine=name)

    def _start_queued_of(self, name: str) -> None:
        engine = self._engine_of(name)
        # Each takes a slot at least, and the first that does not fit holds back all behind it.
        most = self.slots.cpus + 1 if engine.runs_here else MOST_AT_ONCE
        queued = self.store.queue(most, engine=name)
        live = [run for run in self.store.by_states(LIVE) if run.pid or run.state is not RunState.PAUSED]
        chosen = engine.choose(queued, [run for run in live if run.engine == name], self.slots)
        if chosen and self._has_room():
            for record in chosen:
                try:
                    self._start(record)
                except REFUSED as error:
                    self.waiting_for_room = f"the disk of the home refuses to be written: {error}"
                    raise

    def _has_room(self) -> bool:
        """A worker would fail at once where there is too little: the queue waits instead, and goes on by itself."""
        try:
            disk_room.check(self.home.runs)
        except HomeUnusable as error:
            self.waiting_for_room = str(error)
            self._complaints.tell("supervisor.no_room", error)
            return False
        self.waiting_for_room = ""
        return True

    def _start(self, record: RunRecord) -> None:
        run_dir = self._records.dir_of(record)
        self._watched_runs.forget(record.run_id)
        ingest = self._watched_runs.of(record).ingest
        ingest.catch_up()
        # The worker counts the attempts in its own spool; the next one is the one after the last that began.
        attempt = ingest.started_attempt + 1
        epoch = record.epoch + 1
        changes = {"attempt": attempt, "epoch": epoch, "started_at": record.started_at or time.time(), "pid": 0}
        # On disk before the worker exists: a daemon that dies in between finds either no lock or a living worker.
        moving = {"reason": "", "gpu_ids": record.gpu_ids, **changes}
        record = self._records.move(record, RunState.STARTING, must_write=True, **moving)
        self.alerts.follow(record, ingest)
        try:
            secrets = self.secrets.of(record.run_id)
            engine = self._engine_of(record.engine)
            launch = self._launching.make(
                run_dir, record, target=self.target, secrets=secrets, runs_here=engine.runs_here
            )
            handle = engine.launch(launch)
        except (MosaicError, OSError) as error:
            # The start before it may still work, or the disk is full: neither is for ever.
            if isinstance(error, OldStart) or (isinstance(error, OSError) and error.errno in NO_ROOM):
                self._complaints.tell("run.not_launched", error, run_id=record.run_id)
                self._records.change(record, durable=True, state=RunState.QUEUED, gpu_ids=())
            else:
                self._records.end(record, RunState.FAILED, f"the worker could not be started: {error}")
            return
        log.info("run.launched", run_id=record.run_id, pid=handle.pid, attempt=record.attempt, epoch=handle.epoch)
        self._records.change(record, durable=False, pid=handle.pid)
        if self.warm:
            self._engine_of("").warm_up()

    def _changed(self) -> None:
        self.change_signal.ring()
        self._wake.set()
