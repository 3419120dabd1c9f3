"""What a reference to a user's environment or wrapper means in this process: its file executed, once, by the gate.

A worker is forked from a process that has executed none, so that each run has the file as it is on disk. A file that
was typed at the worker itself asks for no allowed folder, as with `python FILE`. A copy in a run directory, a
checkpoint or a policy is never executed.
"""

import hashlib
import importlib
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from mosaic.errors import ConfigError, Problem
from mosaic.scripts import code_gate, own_code_files, own_modules
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.environment_file import Kind
from mosaic.scripts.executed_file import copy_of, what_was_raised
from mosaic.spec import own_code
from mosaic.spec.files.source_copy import SourceCopy
from mosaic.spec.run_dir import Home

INIT = "__init__.py"


@dataclass(frozen=True)
class Executed:
    """One file."""

    path: Path
    module: ModuleType
    source: SourceCopy


_executed: dict[Path, Executed] = {}
_typed: dict[str, Path] = {}


def file_of(word: str, kind: Kind) -> Path:
    """The file behind a reference; the error says why it may not run."""
    return _typed.get(word) or code_gate.own(word, Allowed(Home.resolve()), kind)


def of_typed(word: str) -> str:
    """The reference that a path with a name means, for the rest of this process; any other word as it is."""
    parts = own_code.typed(word)
    if parts is None or own_code.is_reference(word):
        return word
    path = Path(parts.file).expanduser().absolute()
    if not path.is_file():
        raise _refused(path, "is not a file")
    found = own_code.reference(path.name, parts.name)
    _typed[found] = path
    return found


def named(word: str, kind: Kind, path: Path | None = None) -> Any:
    """The class, function or registered id that a reference means: what its file has under that name, or None."""
    path = path or file_of(word, kind)
    parts = own_code.typed(word)
    assert parts is not None
    return getattr(execute(path).module, parts.name, None)


def source_of(word: str, kind: Kind) -> SourceCopy:
    """The code behind a reference, as this process has executed it."""
    return execute(file_of(word, kind)).source


def missing(word: str, path: Path, kind: Kind) -> ConfigError:
    parts = own_code.typed(word)
    assert parts is not None
    return _refused(path, own_code_files.no_such_name(path, parts.name, kind))


def execute(path: Path) -> Executed:
    """Its folder comes first on the path meanwhile, as with `python FILE`; a file of a package is a module of it."""
    if path not in _executed:
        _executed[path] = _execute(path)
    return _executed[path]


def _execute(path: Path) -> Executed:
    root, name = _module_of(path)
    # What another file executed has a name that no import gives, so it does not belong to this one.
    others = {one.module.__name__ for one in _executed.values() if _module_of(one.path)[0] == one.path.parent}
    before = frozenset(sys.modules) | others
    # Nothing is written beside it, not even compiled modules, which could be older than what they were made from.
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    with own_modules.among(root):
        try:
            text = path.read_bytes()
            module = importlib.import_module(name) if root != path.parent else _alone(path, name, text)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise _refused(path, what_was_raised(error, path)) from error
        return Executed(path, module, copy_of(path, text, before))


def _module_of(path: Path) -> tuple[Path, str]:
    """The folder that it imports from, and its name there. One that stands alone gets a name that no other has."""
    root = path.parent
    parts = [path.stem]
    while (root / INIT).exists() and root != root.parent:
        parts.insert(0, root.name)
        root = root.parent
    if root != path.parent:
        return root, ".".join(parts)
    return root, f"{path.stem}_of_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"


def _alone(path: Path, name: str, text: bytes) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and annotations look their module up there.
    sys.modules[name] = module
    exec(compile(text, str(path), "exec", dont_inherit=True), module.__dict__)
    return module


def _refused(path: Path, message: str) -> ConfigError:
    return ConfigError([Problem(path.name, message)], what=str(path))
