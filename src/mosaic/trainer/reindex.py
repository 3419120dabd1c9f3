"""What run directories, which are the truth, tell the index: a run without `run.json`, one that was removed."""

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

from ulid import ULID

from mosaic import config
from mosaic.spec import manifest, run_list, run_record
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_record import Placed
from mosaic.spec.states import TERMINAL, RunState
from mosaic.trainer import branch
from mosaic.trainer.engines.engine import Engine
from mosaic.trainer.ingest import RunIngest
from mosaic.trainer.store import Store

DELETED = ".deleted-"


class Removed:
    """Runs whose directories a user has removed while the daemon runs."""

    def __init__(self, home: Home, store: Store, engine: Engine) -> None:
        self._home = home
        self._store = store
        self._engine = engine
        self._seen = -1
        self._some_live = False

    def take_out(self) -> list[str]:
        """Take them out of the index; which they were. Nearly free while nothing was removed from `runs/`."""
        changed = self._home.runs.stat().st_mtime_ns
        if changed == self._seen and not self._some_live:
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
        self._seen, self._some_live = changed, len(ended) < len(gone)
        return [record.run_id for record in ended]


def set_aside(run_dir: RunDir) -> Path:
    """Rename the directory of a deleted run, so that it is one no longer; the next daemon removes what a kill left."""
    doomed = run_dir.root.with_name(f"{DELETED}{run_dir.run_id}")
    run_dir.root.replace(doomed)
    return doomed


def clear(home: Home, store: Store) -> None:
    """At the start: remove half-written branches, and take out of the list what a user removed by hand."""
    branch.clear(home)
    there = set(run_list.run_ids(home))
    gone = [store.get(run_id) for run_id in sorted(store.all_ids() - there)]
    if gone:
        store.put([replace(record, deleted=True) for record in gone if record is not None])


def leftovers(home: Home) -> list[Path]:
    """What a kill left of deleted runs."""
    return list(home.runs.glob(f"{DELETED}*"))


def remove(doomed: Path) -> None:
    shutil.rmtree(doomed, ignore_errors=True)


def read(home: Home, run_dir: RunDir, engine: Engine) -> Placed:
    """What `run.json` says of a run; where there is none, what its other files tell."""
    if run_dir.record.exists():
        return run_record.read(run_dir)
    ingest = RunIngest(home, run_dir, keep_metrics=False)
    ingest.catch_up()
    return _guess(run_dir, ingest, engine)


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
    text = run_dir.config.read_bytes() if run_dir.config.exists() else b"{}"
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
        ended_at=0.0 if state is RunState.RUNNING else run_dir.events.stat().st_mtime,
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
