"""What is installed beside us, as far as that can be told without importing it."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path


def are_importable(modules: Iterable[str]) -> bool:
    """Whether the packages of these modules are there."""
    return all(find_spec(module.partition(".")[0]) is not None for module in modules)


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """The version of each; empty of one that is not installed."""
    return {name: _version(name) for name in distributions}


def entry_points(group: str, ours: Mapping[str, str]) -> dict[str, metadata.EntryPoint]:
    """By name: ours, then those of other packages, which cannot take a name of ours; all are loaded in the same way.

    Ours come as a table rather than from the metadata of the distribution: a checkout's is as old as its last install.
    """
    found = {name: metadata.EntryPoint(name, value, group) for name, value in ours.items()}
    for point in sorted(metadata.entry_points(group=group), key=lambda point: point.name):
        found.setdefault(point.name, point)
    return found


def plugin_groups(groups: Iterable[str]) -> Iterator[str]:
    """Groups of entry points to which some installed package adds."""
    texts = [text for folder in sys.path for text in _entry_points(Path(folder))]
    return (group for group in groups if any(f"[{group}]" in text for text in texts))


def _entry_points(folder: Path) -> Sequence[str]:
    """As `importlib.metadata` reads them, which takes ten times as long because it parses all of them."""
    try:
        return [
            file.read_text(errors="replace")
            for pattern in ("*.dist-info", "*.egg-info")
            for found in folder.glob(pattern)
            if (file := found / "entry_points.txt").is_file()
        ]
    except OSError:
        return ()


@cache
def _version(distribution: str) -> str:
    """Looked up once: a daemon that should see a newly installed package is started anew."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""
