"""Which checkpoints a run has, as the daemon sees them: folders by their step."""

from mosaic.errors import CheckpointError
from mosaic.spec.run_dir import RunDir


def steps(run_dir: RunDir) -> list[int]:
    found = [path.name.removeprefix("step-") for path in run_dir.checkpoints.glob("step-*")]
    return sorted(int(step) for step in found if step.isascii() and step.isdigit())


def newest(run_dir: RunDir) -> str:
    """Relative to the run directory; empty if there is none, so that the run begins anew."""
    there = steps(run_dir)
    return run_dir.relative(run_dir.checkpoint(there[-1])) if there else ""


def find(run_dir: RunDir, from_step: int) -> str:
    """The one of a step, or the newest for 0; CheckpointError if there is none."""
    there = steps(run_dir)
    if not there:
        raise CheckpointError(f"run {run_dir.run_id} has no checkpoint to resume from; submit it anew")
    if from_step and from_step not in there:
        listed = ", ".join(map(str, there))
        raise CheckpointError(f"run {run_dir.run_id} has no checkpoint of step {from_step}; there are {listed}")
    return run_dir.relative(run_dir.checkpoint(from_step or there[-1]))
