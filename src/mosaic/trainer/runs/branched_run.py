"""A new run that begins from a checkpoint of another one, which stays as it is.

Its directory is made aside, `runs/.branch-<id>/<id>`, with the checkpoint (hard links, or copies where the file system
has none), config, manifest and record, and gets its name by one rename: a kill leaves a whole run or none. It needs
nothing of its parent from then on, which may be deleted.
"""

import hashlib
import json
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from mosaic import config
from mosaic.spec import manifest, run_config, run_list, run_record
from mosaic.spec.files.shared_files import read_small, share, sync_folder, write_atomically
from mosaic.spec.manifest import Artifact, Manifest
from mosaic.spec.run_dir import Home, RunDir, run_label
from mosaic.spec.run_record import Progress, RunRecord
from mosaic.spec.states import RunState

PART = ".branch-"


def write(home: Home, parent: RunRecord, step: int, *, run_id: str, client_key: str) -> RunRecord:
    """The new run, on disk and queued; nothing of it if this raises."""
    part = home.runs / f"{PART}{run_id}"
    label = f"{parent.label} from step {step}"
    document = _document(home, parent, label)
    try:
        run_dir = RunDir(part / run_id)
        run_dir.create()
        _link(home.run(parent.run_id).checkpoint(step), run_dir.checkpoint(step))
        text = json.dumps(document, indent=1) + "\n"
        record = _record(parent, step, run_id=run_id, client_key=client_key, label=label, text=text)
        write_atomically(run_dir.config, text)
        manifest.write(run_dir, _manifest(run_dir, record, document))
        run_record.write(run_dir, record.placed)
        share(run_dir.config, home.config(run_id))
        sync_folder(home.configs)
        run_dir.root.rename(home.run(run_id).root)
        sync_folder(home.runs)
    except BaseException:  # Any error goes on to the caller.
        home.config(run_id).unlink(missing_ok=True)
        raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return replace(record, run_dir=str(home.run(run_id).root))


def clear(home: Home) -> None:
    """At the start: what a kill left of a branch that was being made."""
    for part in run_list.starting_with(home, PART):
        shutil.rmtree(part, ignore_errors=True)


def _document(home: Home, parent: RunRecord, label: str) -> dict[str, Any]:
    """The parent's config, as its own next attempt would get it."""
    stored = home.config(parent.run_id)
    path = stored if stored.exists() else home.run(parent.run_id).config
    return {**config.loads(read_small(path), what=str(path)), "run_name": label}


def _link(source: Path, target: Path) -> None:
    """Files of a checkpoint are never written to again, so two runs may share them."""
    target.mkdir(parents=True)
    for path in sorted(source.iterdir()):
        share(path, target / path.name)
    sync_folder(target)
    sync_folder(target.parent)


def _record(parent: RunRecord, step: int, *, run_id: str, client_key: str, label: str, text: str) -> RunRecord:
    fresh = RunRecord(run_id=run_id)
    kept = ("kind", "algo", "env_id", "seed", "priority", "cpus", "gpus", "total_timesteps")
    return replace(
        fresh,
        **{name: getattr(parent, name) for name in kept},
        **vars(Progress(global_step=step)),
        label=label,
        state=RunState.QUEUED,
        reason=f"branched from run {parent.run_id} at step {step}",
        # Not in the group of its parent: the curve of a seed must not count twice there.
        config_digest=hashlib.sha256(text.encode()).hexdigest(),
        client_key=client_key,
        submitted_at=time.time(),
        resume_from=f"checkpoints/step-{step}",
        parent=parent.run_id,
        parent_step=step,
    )


def _manifest(run_dir: RunDir, record: RunRecord, document: dict[str, Any]) -> Manifest:
    """As the worker would begin it, but with the parent's name; the worker goes on with it."""
    parsed = run_config.parse(document)
    wandb = parsed.artifacts.wandb.enabled
    checkpoint = run_dir.checkpoint(record.parent_step)
    return Manifest(
        run_id=record.run_id,
        algo=record.algo,
        env_id=record.env_id,
        env_settings=parsed.environment.settings,
        seed=record.seed,
        label=run_label(record.env_id, record.algo, record.seed, int(record.submitted_at)),
        parent=record.parent,
        parent_step=record.parent_step,
        artifacts=(
            *manifest.common_artifacts(run_dir),
            *manifest.tracking_artifacts(run_dir, wandb=wandb),
            Artifact(kind="checkpoint", path=run_dir.relative(checkpoint), global_step=record.parent_step),
        ),
    )
