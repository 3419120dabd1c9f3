"""Changing a run's record: its own `run.json` first, then the index, then whoever waits is told."""

import time
from collections.abc import Callable
from dataclasses import replace

from mosaic.errors import RunNotFound
from mosaic.log import get_logger
from mosaic.spec import run_record, states
from mosaic.spec.run_dir import Home, RunDir, checked_run_id
from mosaic.spec.run_record import Progress, RunRecord
from mosaic.spec.states import TERMINAL, RunState
from mosaic.trainer.store import Store

log = get_logger()


class Records:
    """The records of a home. Whoever changes one holds the supervisor's lock."""

    def __init__(self, home: Home, store: Store, tell: Callable[[], None]) -> None:
        self.home = home
        self.store = store
        self._tell = tell
        self.bring: Callable[[str], RunRecord | None] = store.get
        """A run that the index may not have whole yet."""

    def dir_of(self, record: RunRecord) -> RunDir:
        return self.home.run(record.run_id)

    def get(self, run_id: str) -> RunRecord:
        record = self.bring(checked_run_id(run_id))
        if record is None:
            raise RunNotFound(run_id)
        return record

    def move(self, record: RunRecord, wanted: RunState, **changes: object) -> RunRecord:
        state = states.move(record.state, wanted, run_id=record.run_id)
        return self.change(record, durable=wanted in TERMINAL, state=state, **changes)

    def end(self, record: RunRecord, state: RunState, reason: str, **changes: object) -> RunRecord:
        ended = self.move(record, state, reason=reason, ended_at=time.time(), pid=0, **changes)
        log.info("run.ended", run_id=record.run_id, state=state.value, reason=reason)
        return ended

    def change(self, record: RunRecord, *, durable: bool, **changes: object) -> RunRecord:
        changed = replace(record, **changes)  # type: ignore[arg-type]
        run_record.write(self.dir_of(record), changed.placed)
        stored = self.store.put([changed], durable=durable)[0]
        self._tell()
        return stored

    def progressed(self, record: RunRecord, progress: Progress) -> RunRecord:
        """Only the index: the events tell the same."""
        stored = self.store.put([replace(record, **vars(progress))])[0]
        self._tell()
        return stored
