"""The digest of the sources: what was imported, described or cached before a change is not used after it."""

import hashlib
import importlib.util
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGES = ("cleanrl_worker", "mosaic")
PROVIDERS = (
    "gymnasium",
    "ale-py",
    "mujoco",
    "box2d",
    "minigrid",
    "pettingzoo",
    "mpe2",
    "envpool",
    "torch",
    "mosaic-rl",
)
"""Distributions that algorithms and environments come from."""
PASSED_OVER = frozenset({"gui", "cli", "trainer", "__pycache__"})
"""Folders of which nothing is in a worker."""


def sources_digest() -> str:
    """Changes when a source of the worker, a page of an algorithm or a package that provides environments changes."""
    state = hashlib.sha256()
    for folder in _folders():
        for line in sorted(_files_of(folder, (".py", ".md"))):
            state.update(line.encode())
    state.update(_versions().encode())
    return state.hexdigest()


def _files_of(folder: str, endings: tuple[str, ...]) -> Iterator[str]:
    """A line for each file, pages only of the folder itself. Each submit asks: `Path.rglob` takes ten times as long."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(endings):
                stat = entry.stat()
                yield f"{entry.path}:{stat.st_mtime_ns}:{stat.st_size}\n"
            elif entry.name not in PASSED_OVER and entry.is_dir():
                yield from _files_of(entry.path, (".py",))


@cache
def _folders() -> tuple[str, ...]:
    """Those of the packages, and that of the pages where it lies beside them."""
    found = [importlib.util.find_spec(package) for package in PACKAGES]
    roots = [Path(next(iter(spec.submodule_search_locations or []))) for spec in found if spec is not None]
    pages = roots[0].parent.parent / "docs" / "algorithms"
    return (*map(str, roots), *([str(pages)] if pages.is_dir() else []))


@cache
def _versions() -> str:
    """Packages are looked up once: a daemon that should see a newly installed one is started anew."""
    import importlib.metadata

    versions: list[str] = []
    for name in PROVIDERS:
        try:
            versions.append(f"{name}={importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{name} absent")
    return "\n".join(versions)
