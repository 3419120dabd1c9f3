"""Which checkpoint a resumed run goes on from, as the daemon sees them: their files, not what these mean."""

from dataclasses import dataclass
from pathlib import Path

from mosaic.errors import CheckpointError
from mosaic.spec.files import checkpoint_files
from mosaic.spec.run_dir import RunDir

READ_BYTES = 2**30
"""Checkpoints up to this size are read whole here, in about a second; of larger ones the worker does it."""


@dataclass(frozen=True)
class Start:
    """Where a resumed run goes on."""

    step: int
    newer: tuple[int, ...] = ()
    """Steps of the checkpoints that lie after it, when the user chose an older one."""
    remarks: tuple[str, ...] = ()
    """What the user should know of the choice."""


def newest(run_dir: RunDir) -> Start:
    """The newest whole one; CheckpointError if there is none."""
    chosen = checkpoint_files.choose(run_dir, quick=_size(run_dir) > READ_BYTES)
    if chosen.folder is None:
        raise CheckpointError(f"run {run_dir.run_id} has no checkpoint to resume from; submit it again")
    return Start(checkpoint_files.step_of(chosen.folder), remarks=chosen.remarks)


def of_step(run_dir: RunDir, step: int) -> Start:
    """That of a step, which a user chose; CheckpointError if it is not there or damaged."""
    there = checkpoint_files.steps(run_dir)
    if step not in there:
        listed = f"there are {', '.join(map(str, there))}" if there else "it has none; submit it again"
        raise CheckpointError(f"run {run_dir.run_id} has no checkpoint of step {step}; {listed}")
    folder = run_dir.checkpoint(step)
    has_digests = checkpoint_files.check(folder, quick=_bytes(folder) > READ_BYTES)
    remarks = () if has_digests else (f"{folder} {checkpoint_files.NO_DIGEST}",)
    return Start(step, tuple(other for other in there if other > step), remarks)


def _size(run_dir: RunDir) -> int:
    """Of the newest; older ones have about the same."""
    there = checkpoint_files.steps(run_dir)
    return _bytes(run_dir.checkpoint(there[-1])) if there else 0


def _bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.iterdir())
