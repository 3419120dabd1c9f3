"""Rebuilding the index from the run directories, which are the truth, and finding runs that nobody told us of."""

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

from ulid import ULID

from mosaic import config
from mosaic.errors import MosaicError
from mosaic.log import get_logger
from mosaic.spec import manifest, run_list, run_record
from mosaic.spec.own_files import is_regular, read_regular
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_record import Placed, RunRecord
from mosaic.spec.states import TERMINAL, RunState
from mosaic.trainer.engines.engine import Engine
from mosaic.trainer.ingest import RunIngest
from mosaic.trainer.store import Store

DELETED = ".deleted-"

log = get_logger()


class Orphans:
    """Where index and directories differ: an index that was lost, a worker that a person started, a removed folder."""

    def __init__(self, home: Home, store: Store, engine: Engine) -> None:
        self._home = home
        self._store = store
        self._engine = engine
        self._seen = -1
        self._skipped: dict[str, str] = {}
        self._seen_gone = -1
        self._gone_but_alive = False

    def take_in(self) -> int:
        """Take in what is new; how many there were. Free of charge while nothing was added to `runs/`."""
        changed = self._home.runs.stat().st_mtime_ns
        if changed == self._seen and not self._skipped:
            return 0
        known = self._store.all_ids()
        missing = [name for name in run_list.run_ids(self._home) if name not in known]
        found: list[RunRecord] = []
        skipped: dict[str, str] = {}
        for name in sorted(missing):
            try:
                found.append(_read(self._home, self._home.run(name), self._engine))
            except (MosaicError, OSError) as error:
                # A worker that has just been started has not written its manifest yet: look again.
                skipped[name] = str(error)
                if name not in self._skipped:
                    log.warning("reindex.skipped", run_id=name, error=str(error))
        self._store.put(found, durable=True)
        self._seen, self._skipped = changed, skipped
        return len(found)

    def take_out(self) -> list[str]:
        """Take out the runs whose directories a person has removed; which they were. Free of charge as above."""
        changed = self._home.runs.stat().st_mtime_ns
        if changed == self._seen_gone and not self._gone_but_alive:
            return []
        missing = sorted(self._store.all_ids() - set(run_list.run_ids(self._home)))
        gone = [record for run_id in missing if (record := self._store.get(run_id)) is not None]
        # A worker that lost its directory under its feet will not live long: look again.
        ended = [
            record
            for record in gone
            if record.state in TERMINAL or not self._engine.is_alive(self._home.run(record.run_id), record.pid)
        ]
        self._store.put([replace(record, deleted=True) for record in ended])
        self._seen_gone, self._gone_but_alive = changed, len(ended) < len(gone)
        return [record.run_id for record in ended]


def set_aside(run_dir: RunDir) -> Path:
    """Rename the directory of a deleted run, so that it is one no longer; `clear` removes what a kill left of it."""
    doomed = run_dir.root.with_name(f"{DELETED}{run_dir.run_id}")
    run_dir.root.replace(doomed)
    return doomed


def clear(home: Home, store: Store) -> None:
    """At the start: remove what a kill left of deleted runs, and from the list what people removed by hand."""
    for doomed in home.runs.glob(f"{DELETED}*"):
        shutil.rmtree(doomed, ignore_errors=True)
    there = set(run_list.run_ids(home))
    gone = [store.get(run_id) for run_id in sorted(store.all_ids() - there)]
    store.put([replace(record, deleted=True) for record in gone if record is not None])


def _read(home: Home, run_dir: RunDir, engine: Engine) -> RunRecord:
    ingest = RunIngest(home, run_dir)
    ingest.catch_up()
    ingest.save()
    placed = run_record.read(run_dir) if is_regular(run_dir.record) else _guess(run_dir, ingest, engine)
    return RunRecord(**vars(placed), **vars(ingest.progress), run_dir=str(run_dir.root))


def _guess(run_dir: RunDir, ingest: RunIngest, engine: Engine) -> Placed:
    """A run that no daemon started: what its own files tell, written down so that it is not guessed again."""
    found = manifest.read(run_dir)
    state, reason = RunState.LOST, "its worker ended without a word"
    if engine.is_alive(run_dir, 0):
        state, reason = RunState.RUNNING, "started outside the daemon"
    elif ingest.ending is not None and ingest.ending.completed:
        state, reason = (RunState.CANCELLED, "stopped") if ingest.ending.stopped else (RunState.FINISHED, "")
    elif ingest.ending is not None:
        state, reason = RunState.FAILED, ingest.ending.message
    text = read_regular(run_dir.config) if is_regular(run_dir.config) else b"{}"
    began = ULID.from_str(run_dir.run_id).timestamp
    placed = Placed(
        run_id=run_dir.run_id,
        state=state,
        reason=reason,
        kind=found.mode,
        label=found.label,
        notes=_notes(text),
        algo=found.algo,
        env_id=found.env_id,
        seed=found.seed,
        total_timesteps=ingest.total_timesteps,
        config_digest=hashlib.sha256(text).hexdigest(),
        submitted_at=began,
        started_at=began,
        ended_at=0.0 if state is RunState.RUNNING else run_dir.events.lstat().st_mtime,
        attempt=max(ingest.started_attempt, 1),
    )
    run_record.write(run_dir, placed)
    return placed


def _notes(text: bytes) -> str:
    data = config.loads(text)
    for key in ("metadata", "worker", "config", "extras"):
        inner = data.get(key)
        data = inner if isinstance(inner, dict) else {}
    return str(data.get("notes", ""))
