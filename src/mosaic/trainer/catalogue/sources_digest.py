"""The digest of the sources: what was imported, described or cached before a change is not used after it."""

import hashlib
import importlib.util
import os
from collections.abc import Iterator
from functools import cache
from operator import attrgetter
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
    "dm_control",
    "torch",
    "mosaic-rl",
)
"""Distributions that algorithms and environments come from."""
NOT_IN_WORKERS = frozenset({"gui", "cli", "trainer", "__pycache__"})


def sources_digest() -> str:
    """Changes when a source of the worker, a page of an algorithm or a package that provides environments changes."""
    state = hashlib.sha256()
    for folder in _folders():
        for entry in _files_of(str(folder)) if folder.is_dir() else ():
            stat = entry.stat()
            state.update(f"{entry.path}:{stat.st_mtime_ns}:{stat.st_size}\n".encode())
    state.update(_versions().encode())
    return state.hexdigest()


def _files_of(folder: str) -> "Iterator[os.DirEntry[str]]":
    """Sources and pages, in order. By scandir: it is asked several times at each submit."""
    with os.scandir(folder) as listed:
        entries = sorted(listed, key=attrgetter("name"))
    for entry in entries:
        if entry.name.endswith((".py", ".md")):
            yield entry
        elif entry.name not in NOT_IN_WORKERS and entry.is_dir(follow_symlinks=False):
            yield from _files_of(entry.path)


@cache
def _folders() -> tuple[Path, ...]:
    found = [importlib.util.find_spec(package) for package in PACKAGES]
    roots = [Path(next(iter(spec.submodule_search_locations or []))) for spec in found if spec is not None]
    return (*roots, roots[0].parent.parent / "docs" / "algorithms")


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
