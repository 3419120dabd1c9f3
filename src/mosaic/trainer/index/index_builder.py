"""Bringing run directories into the index, newest first, while the daemon already answers.

An index that is too large to be checked before the first answer is checked here, first of all. Then there are two
turns. The first reads every `run.json`: state, place in the queue, key of the submit. Then the list is
complete, queued runs may start and submits are taken. The second reads the events of runs that have ended, which tell
how far each came; until its turn, such a run is listed without progress, and the index notes that it is unread. A run
that a client asks for is read at once. So is, at the start, an ended run whose events have another size than when they
were read: what was written to them meanwhile is shown.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from mosaic.errors import MosaicError
from mosaic.log import get_logger
from mosaic.spec import run_list
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import Progress, RunRecord
from mosaic.spec.states import LIVE, TERMINAL, RunState
from mosaic.trainer.engines.engine import Engine
from mosaic.trainer.index import directory_reader
from mosaic.trainer.index.index_store import REFUSED, Store
from mosaic.trainer.index.ingest import RunIngest

BATCH = 200
"""Runs whose `run.json` is read between two commits."""
COMMIT_S = 0.25
"""Between two commits of what events tell."""
LONG_BYTES = 2**21
"""Events of a run beyond which its metrics are kept while they are read: reading them again would be felt."""
RETRY_S = 2.0
SMALL_HOME = 500
"""So many runs are read before the first answer."""
FIRST_ANSWER_S = 2.0
"""What takes long begins after the first answer, or so long after the start if nothing is asked."""

log = get_logger()


class Indexing:
    """One thread; `bring` may be called from any. `lock` is the supervisor's: it is held for each change."""

    def __init__(
        self,
        home: Home,
        store: Store,
        engine: Engine,
        *,
        lock: threading.RLock,
        read_on: Callable[[RunRecord], RunIngest],
        tell: Callable[[], None],
    ) -> None:
        self._home = home
        self._store = store
        self._engine = engine
        self._lock = lock
        self._read_on = read_on
        """Reads some more of a run's events into its metrics; the ingest, which says whether there is more."""
        self._tell = tell
        self._seen = -1
        self._skipped: dict[str, str] = {}
        self._guard = threading.Lock()
        """Of the two sets, which are changed by several threads."""
        self._unlisted: set[str] = set()
        self._unread = store.unread_ids()
        self._is_compared = False
        """Whether ended runs with other events than those that were read are noted."""
        self._leftovers: list[Path] = []
        self._problem: Exception | None = None
        self._listed = threading.Event()
        self._wake = threading.Event()
        self._asked = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="indexing", daemon=True)
        store.begun_anew = self.start_over

    @property
    def missing(self) -> tuple[int, int]:
        """Runs that are not listed yet, and listed runs whose events are not read yet; without unreadable ones."""
        unreadable = sum(name in self._unlisted for name in list(self._skipped))
        # Until the sizes were compared, there may be one.
        return len(self._unlisted) - unreadable, len(self._unread) or int(not self._is_compared)

    @property
    def is_listed(self) -> bool:
        """Whether every run that was there at the start is on the list: keys, queue and living workers are known."""
        return self._listed.is_set()

    def start(self, *, wait_s: float) -> None:
        """Begin; returns when all of a small home is read, at the latest after `wait_s`; of a large one at once."""
        self._leftovers = directory_reader.leftovers(self._home)
        self.scan()
        self._thread.start()
        if not self._store.is_checked or sum(self.missing) > SMALL_HOME:
            return
        deadline = time.monotonic() + wait_s
        while not (self.is_listed and not any(self.missing)) and time.monotonic() < deadline:
            time.sleep(0.005)

    def answered(self) -> None:
        """A client has its answer, or waits for what is done here: go on with what takes long."""
        self._asked.set()

    def start_over(self) -> None:
        """The index is empty: list every run again. Called with the index's lock held."""
        with self._guard:
            self._unlisted.update(run_list.run_ids(self._home))
            self._unread.clear()
            self._listed.clear()
        self._wake.set()

    def close(self) -> None:
        self._closing.set()
        self._asked.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join()

    def scan(self) -> None:
        """Look for directories that the index does not have. Nearly free while nothing was added to `runs/`."""
        changed = self._home.runs.stat().st_mtime_ns
        if changed == self._seen and not self._skipped:
            return
        known = self._store.all_ids()
        missing = [name for name in run_list.run_ids(self._home) if name not in known]
        with self._guard:
            self._unlisted.update(missing)
        self._seen = changed
        self._wake.set()

    def wait_until_listed(self, goes_on: Callable[[], bool]) -> None:
        """Block until the list is complete or no client waits; raises what keeps it from being so."""
        self.answered()
        while not self._listed.wait(0.1) and goes_on():
            if self._problem is not None:
                raise self._problem

    def bring(self, run_id: str) -> RunRecord | None:
        """A run before its turn, for a client that asks for it; None if there is nothing to bring."""
        if run_id in self._unlisted:
            self._list([run_id])
        record = self._store.get(run_id)
        # A question is answered on a full disk, too: what cannot be noted now is read again later.
        with contextlib.suppress(*REFUSED):
            if record is not None and record.state in TERMINAL:
                self._note_changed({run_id: record.events_bytes})
            if run_id in self._unread and record is not None and not self._is_long(run_id):
                self._commit({run_id: self._progress(run_id)})
        return self._store.get(run_id)

    def catch_up(self) -> None:
        """Both turns, until nothing is missing."""
        if not self._is_compared:
            self._note_changed(self._store.bytes_read(TERMINAL))
            self._is_compared = True
        while (self._unlisted or self._unread) and not self._closing.is_set():
            self._list_all()
            self._set_listed()
            self._read_all()
        self._set_listed()

    def _note_changed(self, bytes_read: Mapping[str, int]) -> None:
        """Note as unread what has other events than those that were read."""
        sizes = {run_id: self._size(run_id) for run_id in bytes_read}
        changed = [
            run_id for run_id, size in sizes.items() if size != bytes_read[run_id] and run_id not in self._unread
        ]
        # Of events that became shorter, what was read before is not true any more.
        shorter = [run_id for run_id in changed if sizes[run_id] < bytes_read[run_id]]
        if shorter:
            with self._lock:
                records = [record for run_id in shorter if (record := self._store.get(run_id)) is not None]
                self._store.put(replace(record, **vars(Progress())) for record in records)
        if changed:
            with self._guard:
                self._unread.update(changed)
            self._wake.set()

    def _set_listed(self) -> None:
        with self._guard:
            if not self._unlisted and not self._closing.is_set():
                self._listed.set()

    # The thread.

    def _run(self) -> None:
        while not self._closing.is_set():
            self._wake.clear()
            try:
                if not self._store.is_checked:
                    self._asked.wait(FIRST_ANSWER_S)
                    self._store.check()
                began, (unlisted, unread) = time.monotonic(), self.missing
                self.catch_up()
                self._problem = None
                if unlisted or unread:
                    log.info("index.whole", runs=unlisted or unread, took_s=round(time.monotonic() - began, 3))
            except Exception as error:  # A border: a disk that is full now may have room later.
                if repr(error) != repr(self._problem):
                    log.error("index.failed", error=str(error), exc_info=error)
                self._problem = error
                self._closing.wait(RETRY_S)
                continue
            while self._leftovers and not self._closing.is_set():
                directory_reader.remove(self._leftovers.pop())
            self._wake.wait()

    def _list_all(self) -> None:
        while self._unlisted and not self._closing.is_set():
            with self._guard:
                names = sorted(self._unlisted, reverse=True)
            # Sorted once: what is added meanwhile has its turn in the next round.
            for first in range(0, len(names), BATCH):
                if self._closing.is_set():
                    return
                self._list(names[first : first + BATCH])

    def _list(self, names: Iterable[str]) -> None:
        names = list(names)
        found = [record for name in names if (record := self._placed(name)) is not None]
        with self._lock:
            # Another thread may have brought or removed one of them.
            new = [run for run in found if self._store.get(run.run_id) is None and Path(run.run_dir).exists()]
            if new:
                self._store.put(new, unread=True)
        with self._guard:
            self._unlisted.difference_update(names)
            self._unread.update(run.run_id for run in new)
        if new:
            self._tell()

    def _placed(self, name: str) -> RunRecord | None:
        run_dir = self._home.run(name)
        try:
            placed = directory_reader.read(self._home, run_dir, self._engine)
        except Exception as error:  # A border: one directory that cannot be read must not hold back all others.
            if not isinstance(error, (MosaicError, OSError)):
                log.error("reindex.bug", run_id=name, exc_info=error)
            if run_dir.root.exists():
                # A worker that has just been started has not written its manifest yet: look again.
                if name not in self._skipped:
                    log.warning("reindex.skipped", run_id=name, error=str(error))
                self._skipped[name] = str(error)
            else:
                self._skipped.pop(name, None)
            return None
        self._skipped.pop(name, None)
        return RunRecord(**vars(placed), run_dir=str(run_dir.root))

    def _read_all(self) -> None:
        """Newest first; a run that comes in meanwhile is listed before the next commit."""
        with self._guard:
            names = sorted(self._unread, reverse=True)
        found: dict[str, Progress | None] = {}
        committed = time.monotonic()
        for name in names:
            if self._closing.is_set():
                break
            found[name] = self._progress(name)
            if time.monotonic() - committed >= COMMIT_S:
                self._commit(found)
                found, committed = {}, time.monotonic()
                if self._unlisted:
                    break
        self._commit(found)

    def _progress(self, run_id: str) -> Progress | None:
        """What the events of a run tell; None if they are read elsewhere, not to the end, or cannot be read."""
        try:
            return self._read(run_id)
        except Exception as error:  # A border: as for its record; it stays on the list without progress.
            log.error("reindex.events_unreadable", run_id=run_id, error=str(error), exc_info=error)
            return None

    def _read(self, run_id: str) -> Progress | None:
        record = self._store.get(run_id)
        if record is None or is_tended(record):
            return None
        if not self._is_long(run_id):
            ingest = RunIngest(self._home, self._home.run(run_id), keep_metrics=False)
            ingest.catch_up()
            return ingest.progress
        while not self._closing.is_set():
            ingest = self._read_on(record)
            if not ingest.behind:
                return ingest.progress
        return None

    def _commit(self, found: dict[str, Progress | None]) -> None:
        if not found or self._closing.is_set():
            return
        with self._lock:
            changed: list[RunRecord] = []
            for run_id, progress in found.items():
                current = self._store.get(run_id)
                # One that was resumed meanwhile is the supervisor's, and its progress is newer.
                if current is None or progress is None or is_tended(current):
                    continue
                if progress.last_seq >= current.last_seq:
                    changed.append(replace(current, **vars(progress)))
            if changed:
                self._store.put(changed)
            self._store.mark_read(found)
        with self._guard:
            self._unread.difference_update(found)
        if changed:
            self._tell()

    def _is_long(self, run_id: str) -> bool:
        return self._size(run_id) > LONG_BYTES

    def _size(self, run_id: str) -> int:
        try:
            return self._home.run(run_id).events.lstat().st_size
        except OSError:
            return 0


def is_tended(record: RunRecord) -> bool:
    """Whether the supervisor reads the events of this run: there may be a worker that writes them."""
    return record.state in LIVE and (record.state is not RunState.PAUSED or record.pid != 0)
