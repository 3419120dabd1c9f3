"""The one gate for code that a run config may choose: every file that one names, asked whether it may run.

The daemon asks at a submit, the worker asks again where the code is run. A new kind of code that a config can name is a
line in `code_of`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mosaic.errors import ConfigError, Problem
from mosaic.scripts.allowed import Allowed
from mosaic.scripts.script import is_script
from mosaic.spec.actors import split
from mosaic.spec.run_config import PlayExtras, TrainExtras, WorkerConfig

SCRIPTED = "scripted"
"""The actor that is a file of Python."""


class Code(NamedTuple):
    """A file that would run."""

    path: Path
    where: str
    """In the worker config."""
    module: str = ""
    """As which it would run, which tells the folder that it imports from; empty is its own folder."""


def code_of(worker: WorkerConfig) -> Iterator[Code]:
    """All that a worker would run on the word of this config."""
    if is_script(worker.algo):
        module = worker.extras.algo_params.get("script_module") if isinstance(worker.extras, TrainExtras) else None
        yield Code(Path(worker.algo), "algo", module if isinstance(module, str) else "")
    if isinstance(worker.extras, PlayExtras):
        for seat, word in worker.extras.actors.items():
            name, argument = split(word)
            if name == SCRIPTED and argument:
                yield Code(Path(argument), f"extras.actors.{seat}")


def refuse_code(worker: WorkerConfig, allowed: Allowed) -> None:
    """ConfigError with all code of a config that may not run, and the command that allows it."""
    problems: list[Problem] = []
    for code in code_of(worker):
        try:
            real = allowed.real_path(code.path)
            if code.module:
                allowed.real_path(package_root(real, code.module))
        except ConfigError as error:
            problems += [Problem(f"metadata.worker.config.{code.where}", one.message) for one in error.problems]
    if problems:
        raise ConfigError(problems, what="run config")


def package_root(script: Path, module: str) -> Path:
    """The folder from which `module` is this file."""
    parts = module.split(".")
    if parts[-1] == "__main__" or list(script.with_suffix("").parts[-len(parts) :]) != parts:
        raise ConfigError([Problem("script_module", f"'{module}' is not the module of {script}")], what=str(script))
    return script.parents[len(parts) - 1]
