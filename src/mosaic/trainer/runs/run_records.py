"""Changing a run's record: its own `run.json` first, then the index, then the watchers are told.

Where the disk refuses, what happened to a run is held in memory, shown as if it were stored, and written when there is
room again. What a user asks for, and what must not be forgotten, is refused instead.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mosaic.errors import RunNotFound
from mosaic.log import get_logger
from mosaic.spec import run_record, states
from mosaic.spec.run_dir import Home, RunDir, checked_run_id
from mosaic.spec.run_record import Progress, RunRecord
from mosaic.spec.states import TERMINAL, RunState
from mosaic.trainer.engines.engine import Handle
from mosaic.trainer.index.index_store import REFUSED, Store

log = get_logger()


class Records:
    """The records of a home. A thread that changes one holds the supervisor's lock."""

    def __init__(self, home: Home, store: Store, tell: Callable[[], None]) -> None:
        self.home = home
        self.store = store
        self._tell = tell
        self.bring: Callable[[str], RunRecord | None] = store.get
        """A run that the index may not have whole yet."""

    def dir_of(self, record: RunRecord) -> RunDir:
        return self.home.run(record.run_id)

    def handle_of(self, record: RunRecord) -> Handle:
        """Its newest start."""
        return Handle(run_dir=self.dir_of(record), engine=record.engine, epoch=record.epoch, pid=record.pid)

    def get(self, run_id: str) -> RunRecord:
        record = self.bring(checked_run_id(run_id))
        if record is None:
            raise RunNotFound(run_id)
        return record

    def move(self, record: RunRecord, wanted: RunState, *, must_write: bool = False, **changes: Any) -> RunRecord:
        state = states.move(record.state, wanted, run_id=record.run_id)
        return self.change(record, durable=wanted in TERMINAL, must_write=must_write, state=state, **changes)

    def end(self, record: RunRecord, state: RunState, reason: str, **changes: Any) -> RunRecord:
        ended = self.move(record, state, reason=reason, ended_at=time.time(), pid=0, **changes)
        log.info("run.ended", run_id=record.run_id, state=state.value, reason=reason)
        return ended

    def change(self, record: RunRecord, *, durable: bool, must_write: bool = False, **changes: Any) -> RunRecord:
        """The changed record; with `must_write` the error of a disk that refuses, and no change."""
        changed = replace(record, **changes)
        try:
            run_record.write(self.dir_of(record), changed.placed)
            stored = self.store.put([changed], durable=durable)[0]
        except REFUSED as error:
            if must_write:
                raise
            stored = self._hold(changed, error)
        self._tell()
        return stored

    def progressed(self, record: RunRecord, progress: Progress) -> RunRecord:
        """Only the index: the events tell the same."""
        changed = replace(record, **vars(progress))
        try:
            stored = self.store.put([changed])[0]
        except REFUSED:
            stored = self.store.hold(changed)
        self._tell()
        return stored

    def remove(self, record: RunRecord) -> None:
        """Its directory is gone, or about to go: the list must not show it again, written down or not."""
        gone = replace(record, deleted=True)
        try:
            self.store.put([gone], durable=True)
        except REFUSED as error:
            self._hold(gone, error)
        self._tell()

    def write_held(self, record: RunRecord) -> None:
        """Write down what is in memory only; raises if the disk still refuses."""
        if not record.deleted:
            run_record.write(self.dir_of(record), record.placed)
        self.store.put([record], durable=True)
        log.info("record.written", run_id=record.run_id, state=record.state.value)

    def _hold(self, record: RunRecord, error: Exception) -> RunRecord:
        log.warning("record.held", run_id=record.run_id, state=record.state.value, error=str(error))
        return self.store.hold(record)
