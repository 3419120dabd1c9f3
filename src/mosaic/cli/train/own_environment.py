"""Environments and wrappers of a user's files on a command line: a path with a name becomes what a config says."""

import importlib.util
from pathlib import Path

from mosaic.cli.daemon.connection import refuse_remote
from mosaic.errors import ConfigError, Problem
from mosaic.scripts import environment_file, own_code_files
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.environment_file import Kind
from mosaic.spec import own_code
from mosaic.spec.run_dir import Home


def reference_of(word: str, kind: Kind = "environment") -> str:
    """What a config calls `./my_env.py:MyEnv`; any other word as it is, and an error for a file that may not run."""
    typed = own_code.typed(word) or (_of_module(word) if kind == "wrapper" else None)
    if typed is None:
        _refuse_module_of_this_folder(word)
        return word
    # Without '..', so that messages show where it lies.
    path = Path(typed.file).expanduser().absolute()
    if own_code.is_reference(word) and not path.is_file():
        return word
    what = f"{path}:{typed.name}"
    if not path.is_file():
        raise ConfigError([Problem(_flag(kind), f"{typed.file} is not a file")], what=what)
    refuse_remote(f"{_flag(kind)} FILE")
    about = environment_file.read(path)
    if about.problem:
        raise ConfigError([Problem(path.name, about.problem)], what=str(path))
    if typed.name not in about.defined:
        raise ConfigError([Problem(_flag(kind), own_code_files.no_such_name(path, typed.name, kind))], what=str(path))
    allowed = Allowed(Home.resolve())
    allowed.real_path(path, verb=own_code_files.VERB)
    found = own_code_files.find(own_code.reference(path.name, typed.name), allowed, kind)
    if found.problem:
        raise found.error
    return found.name


def absolute(word: str) -> str:
    """A path with its folder, for a process that has another one; any other word as it is."""
    typed = own_code.typed(word)
    path = Path(typed.file).expanduser().absolute() if typed is not None else None
    is_here = path is not None and (path.is_file() or not own_code.is_reference(word))
    return f"{path}:{typed.name}" if is_here and typed is not None else word


def _flag(kind: Kind) -> str:
    return "--env-id" if kind == "environment" else "--wrap"


def _of_module(word: str) -> own_code.Typed | None:
    """`mypkg.shaping:Bonus`, where this folder has mypkg/shaping.py."""
    module, colon, name = word.partition(":")
    file = Path(*module.split(".")).with_suffix(".py") if colon and module and ".." not in module else None
    return own_code.Typed(str(file), name) if file is not None and file.is_file() else None


def _refuse_module_of_this_folder(word: str) -> None:
    """`module:Env-v0`, whose module nothing but `python` in this folder would find."""
    module, colon, name = word.rpartition(":")
    top = module.partition(".")[0]
    if not colon or not top.isidentifier() or importlib.util.find_spec(top) is not None:
        return
    file = Path(*module.split(".")).with_suffix(".py")
    package = Path(*module.split(".")) / "__init__.py"
    found = file if file.is_file() else package if package.is_file() else None
    if found is None:
        return
    listed = environment_file.read(found).named("environment")
    own = name if name in listed else listed[0] if listed else "MyEnv"
    message = (
        f"'{word}' names a module of this folder, and a worker imports none from there; name its file:"
        f" ./{found}:{own} ('mosaic envs add .' allows this folder once)"
    )
    raise ConfigError([Problem("--env-id", message)], what=str(found))
