"""A Python file of a user's, read but never run: whether it is an algorithm, and what it lacks to be one.

An algorithm file defines `Args`, `ACTIONS`, `train(run, args)` and `load(file)`, as those of `cleanrl_worker`
do. A script (`mosaic.scripts.script`) does something when it is run, and defines none of these for us.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mosaic.scripts.script import LIMIT_BYTES

NEEDED = {"Args": "Args", "ACTIONS": "ACTIONS", "train": "train(run, args)", "load": "load(file)"}
SDK = "cleanrl_worker"
PAGE = "docs/own-algorithms.md"
_NOT_LISTED = ("test_", "_", "conftest", "setup")


@dataclass(frozen=True)
class AlgorithmFile:
    """What reading tells."""

    path: Path
    is_meant: bool
    """Whether it was written to be an algorithm, though it may lack something."""
    is_listed: bool
    """Whether lists show it: a module that only helps others is not listed."""
    problem: str = ""
    """Why it cannot be trained with; empty if nothing in its text speaks against it."""

    @property
    def name(self) -> str:
        return self.path.stem


def read(path: Path) -> AlgorithmFile:
    """A file that cannot be read is not an algorithm."""
    try:
        about = path.stat()
        if about.st_size > LIMIT_BYTES:
            return AlgorithmFile(path, is_meant=False, is_listed=False)
        return _read(path, about.st_mtime_ns, about.st_size)
    except OSError:
        return AlgorithmFile(path, is_meant=False, is_listed=False)


@lru_cache(maxsize=1024)
def _read(path: Path, _mtime_ns: int, _size: int) -> AlgorithmFile:
    text = path.read_bytes()
    listable = not path.name.startswith(_NOT_LISTED)
    try:
        tree = ast.parse(text, str(path))
    except SyntaxError as error:
        # Too broken to be read, so its words have to tell.
        meant = SDK.encode() in text and b"def train" in text
        return AlgorithmFile(path, meant, meant and listable, f"line {error.lineno}: {error.msg}")
    except (ValueError, RecursionError, MemoryError):
        return AlgorithmFile(path, is_meant=False, is_listed=False)
    defined = set(_defined(tree))
    missing = [] if "*" in defined else [spelled for name, spelled in NEEDED.items() if name not in defined]
    uses_sdk, trains = any(_imported(tree)), _trains_a_run(tree)
    meant = uses_sdk or (trains and "Args" in defined)
    listed = listable and meant and (trains or "Args" in defined)
    return AlgorithmFile(path, meant, listed, _lack(missing))


def _lack(missing: list[str]) -> str:
    if not missing:
        return ""
    *first, last = missing
    named = f"{', '.join(first)} and no {last}" if first else last
    return f"defines no {named}; an algorithm file has {', '.join(NEEDED.values())} ({PAGE})"


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (alias.asname or alias.name for alias in names)
            case _:
                continue


def _imported(tree: ast.Module) -> Iterator[bool]:
    for node in tree.body:
        match node:
            case ast.Import(names=names):
                yield any(alias.name.partition(".")[0] == SDK for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0] == SDK
            case _:
                continue


def _trains_a_run(tree: ast.Module) -> bool:
    """`def train(run, …)`: a script may have a function of that name, which is about something else."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "train":
            parameters = [*node.args.posonlyargs, *node.args.args]
            return bool(parameters) and parameters[0].arg == "run"
    return False
