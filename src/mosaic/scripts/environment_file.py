"""A Python file of a user's, read but never run: which names in it are environments and which are wrappers.

A class is one by its base, as far as that can be read: `gymnasium.Env` and what ends in `Env`, Gymnasium's wrappers,
and classes of the same file. A function is one if it says so: `def make() -> gym.Env`. Ids that the file registers
(`register(id="Mine-v0", …)`) are environments too. What is not recognised can be named all the same.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from mosaic.scripts.script import LIMIT_BYTES

Kind = Literal["environment", "wrapper"]
WRAPPERS = ("Wrapper", "ObservationWrapper", "ActionWrapper", "RewardWrapper")
_LIBRARIES = ("gymnasium", "gym")
_NOT_LISTED = ("test_", "_", "conftest", "setup")


@dataclass(frozen=True)
class EnvironmentFile:
    """What reading tells."""

    path: Path
    kinds: Mapping[str, Kind] = field(default_factory=dict[str, Kind])
    """By name, in the order of the file."""
    defined: frozenset[str] = frozenset()
    """All that it defines or imports at its top."""
    problem: str = ""
    """Why it cannot be read as Python."""

    @property
    def is_listed(self) -> bool:
        return bool(self.kinds) and not self.path.name.startswith(_NOT_LISTED)

    def named(self, kind: Kind) -> list[str]:
        return [name for name, found in self.kinds.items() if found == kind]


def read(path: Path) -> EnvironmentFile:
    """A file that cannot be opened holds nothing."""
    try:
        about = path.stat()
        if about.st_size > LIMIT_BYTES:
            return EnvironmentFile(path)
        return _read(path, about.st_mtime_ns, about.st_size)
    except OSError:
        return EnvironmentFile(path)


@lru_cache(maxsize=1024)
def _read(path: Path, _mtime_ns: int, _size: int) -> EnvironmentFile:
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except SyntaxError as error:
        return EnvironmentFile(path, problem=f"line {error.lineno}: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        return EnvironmentFile(path, problem=str(error) or type(error).__name__)
    imported = dict(_imported(tree))
    kinds: dict[str, Kind] = {}
    kind: Kind | None
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name, bases=bases):
                kind = next((found for base in bases if (found := _kind_of_base(base, imported, kinds))), None)
                if kind is not None and not name.startswith("_"):
                    kinds[name] = kind
            case ast.FunctionDef(name=name, returns=ast.expr() as returns) if not name.startswith("_"):
                if _kind_of_base(returns, imported, kinds) == "environment":
                    kinds[name] = "environment"
            case _:
                continue
    kinds.update((registered, "environment") for registered in _registered(tree))
    return EnvironmentFile(path, kinds, frozenset({*imported, *_defined(tree), *kinds}))


def _kind_of_base(base: ast.expr, imported: Mapping[str, str], kinds: Mapping[str, Kind]) -> Kind | None:
    if isinstance(base, ast.Subscript):
        base = base.value
    dotted = _dotted(base)
    if dotted in kinds:
        return kinds[dotted]
    first, _, rest = dotted.partition(".")
    if first not in imported:
        return None
    whole = f"{imported[first]}.{rest}" if rest else imported[first]
    package, last = whole.partition(".")[0], whole.rpartition(".")[2]
    if package in _LIBRARIES and (last in WRAPPERS or ".wrappers" in whole):
        return "wrapper"
    return "environment" if last.endswith("Env") else None


def _dotted(node: ast.expr) -> str:
    """`gym.Env`; empty for what is not a name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := _dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names of imports, and what each means."""
    for node in tree.body:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    first = alias.name.partition(".")[0]
                    yield (alias.asname, alias.name) if alias.asname else (first, first)
            case ast.ImportFrom(module=module, names=names):
                yield from ((alias.asname or alias.name, f"{module or ''}.{alias.name}") for alias in names)
            case _:
                continue


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case _:
                continue


def _registered(tree: ast.Module) -> Iterator[str]:
    """Ids of `register(id="Mine-v0", …)`, wherever the call stands."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or _dotted(node.func).rpartition(".")[2] != "register":
            continue
        given = [word.value for word in node.keywords if word.arg == "id"] or node.args[:1]
        for value in given:
            if isinstance(value, ast.Constant) and isinstance(value.value, str) and "/" not in value.value:
                yield value.value
