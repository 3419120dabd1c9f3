"""Whether a run with code of a user's can go on: its code is still here, and what of it has changed."""

from collections.abc import Iterator

from mosaic.errors import CheckpointError, ConfigError, UnknownAlgorithm
from mosaic.scripts import code_gate, own_algorithms
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.environment_file import Kind
from mosaic.scripts.script import is_script
from mosaic.spec import own_code
from mosaic.spec.files import checkpoint_files, source_copy
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord


def check(home: Home, record: RunRecord, step: int) -> tuple[str, ...]:
    """What to say when this run goes on from a checkpoint; an error if code that it needs cannot be loaded."""
    return (*_of_algorithm(home, record, step), *_of_environment(home, record, step))


def _of_environment(home: Home, record: RunRecord, step: int) -> Iterator[str]:
    """The environment and the wrappers that lie in files of users, as the checkpoint names them."""
    if record.kind != "train" or is_script(record.algo):
        return
    try:
        saved = own_code.from_json(
            checkpoint_files.read(home.run(record.run_id).checkpoint(step)).get("env_sources", {})
        )
    except source_copy.BadSource:
        return
    for word, copy in saved.items():
        kind: Kind = "environment" if word == record.env_id else "wrapper"
        try:
            file = code_gate.own(word, Allowed(home), kind)
        except ConfigError as error:
            said = "; ".join(problem.message for problem in error.problems)
            raise CheckpointError(f"run {record.run_id} was trained in '{word}', and {said}") from error
        if difference := source_copy.difference(copy, source_copy.on_disk(copy, file)):
            yield (
                f"{copy.file} is not what it was at step {step} ({difference}): {word} is made of the file as it is"
                f" now; 'mosaic envs copy {record.run_id} DIR --version {copy.short}' writes it as it was"
            )


def _of_algorithm(home: Home, record: RunRecord, step: int) -> tuple[str, ...]:
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
