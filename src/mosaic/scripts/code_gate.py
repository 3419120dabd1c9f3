"""The one gate for code that a run config may choose: every file that one names, asked whether it may run.

The daemon asks at a submit, the worker asks again where the code is run. A new kind of code that a config can name is a
line in `code_of`.
"""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mosaic.errors import ConfigError, Problem, UnknownAlgorithm
from mosaic.scripts import own_algorithms, own_code_files
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.environment_file import Kind
from mosaic.scripts.own_algorithms import OwnAlgorithm
from mosaic.scripts.script import is_script
from mosaic.spec import own_code, wrappers
from mosaic.spec.actors import split
from mosaic.spec.run_config import PlayExtras, PolicyEvalExtras, TrainExtras, WorkerConfig

SCRIPTED = "scripted"
"""The actor that is a file of Python."""


class Code(NamedTuple):
    """A file that would run."""

    path: Path
    where: str
    """In the worker config."""
    module: str = ""
    """As which it would run, which tells the folder that it imports from; empty is its own folder."""
    verb: str = "scripts"
    """The command that allows its folder."""


def code_of(worker: WorkerConfig, allowed: Allowed, settings: Mapping[str, Any] | None = None) -> Iterator[Code]:
    """All that a worker would run on the word of this config."""
    if is_script(worker.algo):
        module = worker.extras.algo_params.get("script_module") if isinstance(worker.extras, TrainExtras) else None
        yield Code(Path(worker.algo), "algo", module if isinstance(module, str) else "")
    elif (own := _own_algorithm(worker, allowed)) is not None and own.file is not None:
        yield Code(own.file, "algo", verb="algos")
    if isinstance(worker.extras, PlayExtras):
        for seat, word in worker.extras.actors.items():
            name, argument = split(word)
            if name == SCRIPTED and argument:
                yield Code(Path(argument), f"extras.actors.{seat}")
    if is_script(worker.algo):
        return
    if own_code.is_reference(worker.env_id):
        yield Code(own_code_files.find(worker.env_id, allowed, "environment").file, "env_id", verb=own_code_files.VERB)
    for name in wrappers.of_users(settings or {}):
        yield Code(own_code_files.find(name, allowed, "wrapper").file, "wrap", verb=own_code_files.VERB)


def refuse_code(worker: WorkerConfig, allowed: Allowed, settings: Mapping[str, Any] | None = None) -> None:
    """ConfigError with all code of a config that may not run, and the command that allows it."""
    own = _own_algorithm(worker, allowed)
    if own is not None and own.problem:
        raise own.error
    if own is None and isinstance(worker.extras, PolicyEvalExtras) and _is_of_user(worker.algo):
        path = worker.extras.policy_path
        copy = f"a policy of MOSAIC carries a copy of it, which 'mosaic algos copy {path} DIR' writes to a folder"
        raise UnknownAlgorithm(worker.algo, hint=f"{absent(worker.algo)}; {copy}")
    problems: list[Problem] = []
    for code in code_of(worker, allowed, settings):
        try:
            real = allowed.real_path(code.path, verb=code.verb)
            if code.module:
                allowed.real_path(package_root(real, code.module))
        except ConfigError as error:
            problems += [Problem(f"metadata.worker.config.{code.where}", one.message) for one in error.problems]
    if problems:
        raise ConfigError(problems, what="run config")


def algorithm(name: str, allowed: Allowed) -> OwnAlgorithm:
    """The algorithm of a user's that has this name, if it may run; the error says why it may not, or what to do."""
    known = own_algorithms.known(allowed)
    own = next((one for one in known if one.name == name), None)
    if own is None:
        near = difflib.get_close_matches(name, [*own_algorithms.built_in(), *(one.name for one in known)], n=3)
        raise UnknownAlgorithm(name, near, hint=absent(name))
    if own.problem:
        raise own.error
    if own.file is not None:
        allowed.real_path(own.file, verb="algos")
    return own


def own(word: str, allowed: Allowed, kind: Kind) -> Path:
    """The file behind a reference to an environment or a wrapper, if it may run; the error says why it may not."""
    found = own_code_files.find(word, allowed, kind)
    if found.problem:
        raise found.error
    return allowed.real_path(found.file, verb=own_code_files.VERB)


def absent(name: str) -> str:
    """Where an algorithm of a user's was looked for, and what to do."""
    return (
        f"no file {name}.py lies in an allowed folder, and no installed package has it; put the file back, or allow"
        " its folder: mosaic algos add DIR"
    )


def _own_algorithm(worker: WorkerConfig, allowed: Allowed) -> OwnAlgorithm | None:
    """None for what is ours, a script, or unknown."""
    if isinstance(worker.extras, PlayExtras) or not _is_of_user(worker.algo):
        return None
    return own_algorithms.find(worker.algo, allowed)


def _is_of_user(name: str) -> bool:
    return bool(name) and not is_script(name) and name not in own_algorithms.built_in()


def package_root(script: Path, module: str) -> Path:
    """The folder from which `module` is this file."""
    parts = module.split(".")
    if parts[-1] == "__main__" or list(script.with_suffix("").parts[-len(parts) :]) != parts:
        raise ConfigError([Problem("script_module", f"'{module}' is not the module of {script}")], what=str(script))
    return script.parents[len(parts) - 1]
