"""Algorithms of users: a file of an allowed folder, one that was typed, or a module of an installed package.

Loaded once in a process, each with the modules beside it (`own_modules`), and only in the process that needs it: a
worker is forked from a process that has imported none of them, so that each run has the file as it is on disk. Which
file a name means is the gate's word (`mosaic.scripts.code_gate`); a copy in a run directory, a checkpoint or a policy
is never loaded.
"""

import importlib
import importlib.util
import sys
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from mosaic.errors import ConfigError, Problem
from mosaic.scripts import algorithm_file, code_gate, own_algorithms, own_modules
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.executed_file import copy_of, what_was_raised
from mosaic.scripts.own_modules import ModulesBeside
from mosaic.spec.files.source_copy import SourceCopy
from mosaic.spec.run_dir import Home

NEEDED_SETTINGS = ("env_id", "seed", "total_timesteps", "num_envs")
"""Fields of Args by which the studio lists a run and makes its environments."""
ACTIONS = ("discrete", "multi_discrete", "continuous")
OBSERVATIONS = ("vector", "pixels", "discrete")


@dataclass(frozen=True)
class Loaded:
    """An algorithm of a user's in this process."""

    name: str
    path: Path
    module: ModuleType
    source: SourceCopy
    beside: ModulesBeside | None
    """Modules of its folder; None for one of an installed package."""


_loaded: dict[str, Loaded] = {}


def of_name(name: str) -> Loaded:
    """The one that a config, a checkpoint or a policy names."""
    if name not in _loaded:
        found = code_gate.algorithm(name, Allowed(Home.resolve()))
        if found.file is not None:
            _loaded[name] = _load_file(found.file)
        else:
            _loaded[name] = _load_module(name, found.module, found.package)
    own_modules.turn_to(_loaded[name].beside)
    return _loaded[name]


def of_typed(path: Path) -> str | None:
    """Load the file that a user has typed, which asks no more than `python FILE` does; its name, None for a script."""
    path = path.expanduser().absolute()
    read = algorithm_file.read(path)
    if not read.is_meant:
        return None
    if read.name not in _loaded:
        if problem := own_algorithms.refuse_name(read.name) or read.problem:
            raise _refused(path, problem)
        _loaded[read.name] = _load_file(path)
    return read.name


def _load_file(path: Path) -> Loaded:
    """Its folder comes first on the path, as with `python FILE`, so that modules beside it are found."""
    name = path.stem
    own_modules.turn_to(None)
    found = None if name in sys.modules else importlib.util.find_spec(name)
    if name in sys.modules or (found is not None and not _is_same(found.origin, path)):
        raise _refused(path, f"has the name of a module that is installed here, '{name}'; give it another name")
    before = frozenset(sys.modules) - own_modules.imported_by_main(path)
    # Nothing is written beside it, not even compiled modules, which could be older than what they were made from.
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    beside = ModulesBeside(path.parent)
    own_modules.turn_to(beside)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        text = path.read_bytes()
        exec(compile(text, str(path), "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        own_modules.turn_to(None)
        if isinstance(error, KeyboardInterrupt):
            raise
        raise _refused(path, what_was_raised(error, path)) from error
    _check(module, path)
    return Loaded(name, path, module, copy_of(path, text, before), beside)


def _is_same(origin: str | None, path: Path) -> bool:
    return origin is not None and Path(origin).resolve() == path.resolve()


def _load_module(name: str, module_name: str, package: str) -> Loaded:
    own_modules.turn_to(None)
    before = frozenset(sys.modules)
    try:
        module = importlib.import_module(module_name)
        path = Path(module.__file__ or "")
        text = path.read_bytes()
    except Exception as error:  # A border: the code of another package may raise anything.
        message = f"the module {module_name} of {package} cannot be imported: {type(error).__name__}: {error}"
        raise ConfigError([Problem(name, message)], what=f"{module_name} of {package}") from error
    _check(module, path)
    return Loaded(name, path, module, copy_of(path, text, before, package), None)


def _check(module: ModuleType, path: Path) -> None:
    """All that the studio needs of an algorithm is there."""
    missing = [spelled for name, spelled in algorithm_file.NEEDED.items() if not hasattr(module, name)]
    if missing:
        raise _refused(path, f"defines no {', no '.join(missing)} ({algorithm_file.PAGE})")
    for name, known in (("ACTIONS", ACTIONS), ("OBSERVATIONS", OBSERVATIONS)):
        given = getattr(module, name, known[0])
        several = given if name == "ACTIONS" and isinstance(given, tuple) and given else (given,)
        if any(one not in known for one in several):
            more = ", or several of these in a tuple" if name == "ACTIONS" else ""
            raise _refused(path, f"{name} is {given!r}; it must be {' or '.join(map(repr, known))}{more}")
    args: Any = module.Args
    if not isinstance(args, type) or not is_dataclass(args):
        raise _refused(path, "Args is not a dataclass; write @dataclass(frozen=True, kw_only=True) above it")
    defined = {field.name for field in fields(args)}
    lacking = [name for name in NEEDED_SETTINGS if name not in defined]
    if lacking:
        raise _refused(path, f"Args has no {', no '.join(lacking)}; every algorithm needs these settings")
    try:
        args()
    except Exception as error:  # A border: a user's class may raise anything.
        message = f"Args() cannot be made of its defaults: {type(error).__name__}: {error}"
        raise _refused(path, message) from error


def _refused(path: Path, message: str) -> ConfigError:
    return ConfigError([Problem(path.name, message)], what=str(path))
