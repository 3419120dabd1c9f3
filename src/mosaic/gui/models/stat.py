"""Size and time of a file that may be gone."""

from pathlib import Path


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def changed_ns(path: Path) -> int:
    """Time of the last change; 0 if there is no such file."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
