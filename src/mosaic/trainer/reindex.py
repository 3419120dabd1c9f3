"""Rebuilding the index from the run directories, which are the truth."""

import hashlib
from dataclasses import replace

from ulid import ULID

from mosaic import config
from mosaic.errors import MosaicError
from mosaic.log import get_logger
from mosaic.spec import manifest, run_record
from mosaic.spec.run_dir import Home, RunDir, checked_run_id
from mosaic.spec.run_record import Placed, RunRecord
from mosaic.spec.states import RunState
from mosaic.trainer.engines.engine import Engine
from mosaic.trainer.ingest import RunIngest
from mosaic.trainer.store import Store

log = get_logger()


def import_missing(home: Home, store: Store, engine: Engine) -> int:
    """Take in every run directory that the index does not know; how many there were."""
    known = store.all_ids()
    found: list[RunRecord] = []
    for folder in sorted(home.runs.iterdir()):
        if folder.name in known or not folder.is_dir():
            continue
        try:
            checked_run_id(folder.name)
            found.append(_read(home, RunDir(folder), engine))
        except (MosaicError, OSError) as error:
            log.warning("reindex.skipped", folder=str(folder), error=str(error))
    store.put(found, durable=True)
    return len(found)


def _read(home: Home, run_dir: RunDir, engine: Engine) -> RunRecord:
    ingest = RunIngest(home, run_dir)
    ingest.poll()
    ingest.save()
    placed = run_record.read(run_dir) if run_dir.record.exists() else _guess(run_dir, ingest, engine)
    record = RunRecord(**vars(placed), **vars(ingest.progress), run_dir=str(run_dir.root))
    return replace(record, total_timesteps=record.total_timesteps or ingest.total_timesteps)


def _guess(run_dir: RunDir, ingest: RunIngest, engine: Engine) -> Placed:
    """A run that no daemon started: what its own files tell, written down so that it is not guessed again."""
    found = manifest.read(run_dir)
    state, reason = RunState.LOST, "its worker ended without a word"
    if engine.is_alive(run_dir):
        state, reason = RunState.RUNNING, "started outside the daemon"
    elif ingest.ending is not None and ingest.ending.completed:
        state, reason = (RunState.CANCELLED, "stopped") if ingest.ending.stopped else (RunState.FINISHED, "")
    elif ingest.ending is not None:
        state, reason = RunState.FAILED, ingest.ending.message
    text = run_dir.config.read_bytes() if run_dir.config.exists() else b"{}"
    notes = _notes(text)
    began = ULID.from_str(run_dir.run_id).timestamp
    placed = Placed(
        run_id=run_dir.run_id,
        state=state,
        reason=reason,
        kind=found.mode,
        label=found.label,
        notes=notes,
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
