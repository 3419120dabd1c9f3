"""Train states on disk: `checkpoints/step-<n>/`, complete or absent, never in between (docs/protocols/checkpoint.md).

    state.json           format version, algorithm, its arguments, global step, and the JSON part of the state
    arrays.safetensors   every array and tensor of the state

Written under a temporary name, fsynced, renamed. The last `keep` and the best (mean return of the last 100 episodes)
stay, older ones are removed after the new one is complete.
"""

import json
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from cleanrl_worker.sdk import tree
from mosaic.errors import CheckpointError
from mosaic.spec.files import sync_file, sync_folder
from mosaic.spec.run_dir import RunDir

FORMAT = "mosaic-checkpoint-1"


@dataclass(frozen=True, kw_only=True)
class Header:
    """What a checkpoint says of itself before its arrays are read."""

    algo: str
    args: dict[str, Any]
    global_step: int
    mean_return: float | None


def save(run_dir: RunDir, header: Header, state: tree.Tree) -> Path:
    """Write one checkpoint, whole or not at all."""
    document, arrays = tree.split(state)
    return _write(run_dir, header, document, arrays)


def _write(run_dir: RunDir, header: Header, document: Any, arrays: dict[str, Any]) -> Path:
    target = run_dir.checkpoint(header.global_step)
    temporary = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        save_file(arrays, temporary / "arrays.safetensors")
        (temporary / "state.json").write_text(json.dumps({"format": FORMAT, **vars(header), "state": document}))
        for name in ("arrays.safetensors", "state.json"):
            sync_file(temporary / name)
        if target.exists():
            # Written by an attempt that was killed after this step: the same state, so either copy will do.
            shutil.rmtree(target)
        temporary.rename(target)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise CheckpointError(
            f"the checkpoint of step {header.global_step} could not be written: {error};"
            " older ones are intact; free some disk"
        ) from error
    sync_folder(run_dir.checkpoints)
    return target


def prune(run_dir: RunDir, *, keep: int) -> list[str]:
    """Remove all but the last `keep` and the best; the names of those removed."""
    steps = list_steps(run_dir)
    returns = {step: read_header(run_dir.checkpoint(step)).mean_return for step in steps}
    scored = [step for step in steps if returns[step] is not None]
    best = max(scored, key=lambda step: (returns[step], step)) if scored else None
    doomed = [step for step in steps[:-keep] if step != best]
    for step in doomed:
        shutil.rmtree(run_dir.checkpoint(step))
    return [run_dir.checkpoint(step).name for step in doomed]


def list_steps(run_dir: RunDir) -> list[int]:
    """Steps of the complete checkpoints, oldest first."""
    return sorted(int(folder.name.removeprefix("step-")) for folder in run_dir.checkpoints.glob("step-*"))


def latest(run_dir: RunDir) -> Path:
    steps = list_steps(run_dir)
    if not steps:
        raise CheckpointError(f"run {run_dir.run_id} has no checkpoint in {run_dir.checkpoints}; start it anew")
    return run_dir.checkpoint(steps[-1])


def read_header(folder: Path) -> Header:
    document = _read_document(folder)
    return Header(**{key: document[key] for key in Header.__dataclass_fields__})


def load(folder: Path, *, algo: str) -> tuple[Header, tree.Tree]:
    """A checkpoint, checked to be one of ours and of this algorithm."""
    document = _read_document(folder)
    if document["algo"] != algo:
        raise CheckpointError(f"{folder} was written by '{document['algo']}'; it cannot be resumed with '{algo}'")
    try:
        arrays = load_file(folder / "arrays.safetensors")
        state = tree.join(document["state"], arrays)
    except (OSError, SafetensorError, KeyError) as error:
        raise CheckpointError(f"{folder} is damaged ({error}); resume from an older checkpoint") from error
    return Header(**{key: document[key] for key in Header.__dataclass_fields__}), state


def _read_document(folder: Path) -> dict[str, Any]:
    try:
        document = json.loads((folder / "state.json").read_bytes())
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder} is not a checkpoint or is damaged: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise CheckpointError(f"{folder} is not a checkpoint of this version ({FORMAT})")
    return document


class BackgroundWriter:
    """Writes one checkpoint at a time in its own thread; the learner pays for a copy in memory only."""

    def __init__(self, run_dir: RunDir) -> None:
        self._run_dir = run_dir
        self._thread: threading.Thread | None = None
        self.error: Exception | None = None

    @property
    def busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self, header: Header, state: tree.Tree, done: Callable[[Path], None]) -> None:
        """Copy now, write later, then call `done(path)` in the writer's thread."""
        document, arrays = tree.split(state)

        def work() -> None:
            try:
                done(_write(self._run_dir, header, document, arrays))
            except Exception as error:  # A border: the learner reads it from `error` and ends the run with it.
                self.error = error

        self._thread = threading.Thread(target=work, name="checkpoint", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()
