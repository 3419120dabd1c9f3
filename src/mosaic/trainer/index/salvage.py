"""What a run is where its `run.json` is missing or damaged: what its events, its manifest and its config tell."""

import contextlib
import hashlib
from typing import Any, cast

from mosaic import config
from mosaic.errors import ConfigError
from mosaic.spec import manifest, run_record, ulid
from mosaic.spec.files.shared_files import read_small
from mosaic.spec.manifest import Manifest
from mosaic.spec.run_dir import RunDir
from mosaic.spec.run_record import Placed
from mosaic.spec.states import RunState
from mosaic.trainer.engines.engine import Engine, Handle
from mosaic.trainer.index.ingest import RunIngest

MAX_SEED = 2**32 - 1


def placed(run_dir: RunDir, ingest: RunIngest, engine: Engine, *, problem: str = "") -> Placed:
    """Written down, so that it is not found out again; a `run.json` with a `problem` is kept under another name."""
    found, damage = _manifest(run_dir, required=not problem)
    if problem:
        kept = run_dir.damaged_record.name
        damage = f"run.json was damaged and is kept as {kept} ({problem:.200}); the other files tell what is shown"
    made = _placed(run_dir, ingest, engine, found, damage)
    # What cannot be written now, on a full disk, is found out again by the next daemon.
    with contextlib.suppress(OSError):
        if problem:
            run_dir.record.replace(run_dir.damaged_record)
        run_record.write(run_dir, made)
    return made


def _placed(run_dir: RunDir, ingest: RunIngest, engine: Engine, found: Manifest, damage: str) -> Placed:
    state, reason = _state(run_dir, ingest, engine)
    text, document = _config(run_dir)
    worker = _inner(document, "metadata", "worker", "config")
    told = ingest.started
    began = ulid.unix_s(run_dir.run_id)
    return Placed(
        run_id=run_dir.run_id,
        state=state,
        reason=reason,
        kind=found.mode,
        label=(_text(document.get("run_name")) if damage else "") or found.label,
        notes=_text(_inner(worker, "extras").get("notes")),
        algo=found.algo or (told.algo if told else "") or _text(worker.get("algo")),
        env_id=found.env_id or (told.env_id if told else "") or _text(worker.get("env_id")),
        seed=told.seed if told and 0 <= told.seed <= MAX_SEED else found.seed,
        total_timesteps=ingest.total_timesteps,
        config_digest=hashlib.sha256(text).hexdigest(),
        submitted_at=began,
        started_at=began,
        ended_at=0.0 if state is RunState.RUNNING else _last_change(run_dir),
        attempt=max(ingest.started_attempt, 1),
        parent=found.parent,
        parent_step=found.parent_step,
        damage=damage,
    )


def _state(run_dir: RunDir, ingest: RunIngest, engine: Engine) -> tuple[RunState, str]:
    if engine.poll(Handle(run_dir=run_dir)):
        return RunState.RUNNING, "started outside the daemon"
    if ingest.ending is None:
        return RunState.LOST, "its worker ended without a message"
    if not ingest.ending.completed:
        return RunState.FAILED, ingest.ending.message
    return (RunState.CANCELLED, "stopped") if ingest.ending.stopped else (RunState.FINISHED, "")


def _manifest(run_dir: RunDir, *, required: bool) -> tuple[Manifest, str]:
    try:
        return manifest.read_parts(run_dir)
    except OSError:
        if required:
            raise  # A directory without both is not a run yet.
        return Manifest(run_id=run_dir.run_id), ""


def _config(run_dir: RunDir) -> tuple[bytes, dict[str, Any]]:
    """The text of `config.json` and what it holds; nothing, if it is missing or damaged too."""
    try:
        text = read_small(run_dir.config)
        return text, config.loads(text)
    except (OSError, ConfigError):
        return b"{}", {}


def _inner(document: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        inner: Any = document.get(key)
        document = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    return document


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _last_change(run_dir: RunDir) -> float:
    try:
        return run_dir.events.lstat().st_mtime
    except OSError:
        return run_dir.root.stat().st_mtime
