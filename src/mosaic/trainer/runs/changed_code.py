"""Whether a run of a user's own algorithm can go on: its code is still here, and what of it has changed."""

from mosaic.errors import CheckpointError, UnknownAlgorithm
from mosaic.scripts import code_gate, own_algorithms
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.script import is_script
from mosaic.spec.files import checkpoint_files, source_copy
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord


def check(home: Home, record: RunRecord, step: int) -> tuple[str, ...]:
    """What to say when this run goes on from a checkpoint; an error if its algorithm cannot be loaded."""
    if record.kind != "train" or is_script(record.algo) or record.algo in own_algorithms.built_in():
        return ()
    try:
        found = code_gate.algorithm(record.algo, Allowed(home))
    except UnknownAlgorithm as error:
        raise CheckpointError(
            f"run {record.run_id} was trained by '{record.algo}', an algorithm of your own, and"
            f" {code_gate.absent(record.algo)}. The run keeps a copy of the code, which is not run from there:"
            f" 'mosaic algos copy {record.run_id} DIR' writes it to a folder"
        ) from error
    folder = home.run(record.run_id).checkpoint(step)
    try:
        saved = source_copy.code_of(source_copy.from_json(checkpoint_files.read(folder).get("source")))
    except source_copy.BadSource:
        return ()
    if (
        saved is None
        or found.file is None
        or not (difference := source_copy.difference(saved, source_copy.on_disk(saved, found.file)))
    ):
        return ()
    return (
        f"{saved.file} is not what it was at step {step} ({difference}): the run goes on with the file as it is now;"
        f" 'mosaic algos copy {record.run_id} DIR --version {saved.short}' writes it as it was",
    )
