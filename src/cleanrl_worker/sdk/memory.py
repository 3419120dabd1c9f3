"""How much memory there is, and the refusal of what would never fit: provided lazily, it would run out hours later."""

from pathlib import Path

import psutil

from mosaic.errors import ConfigError, Problem

_CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def total_bytes() -> int:
    """Of this machine, or of the container if that is allowed less."""
    total = psutil.virtual_memory().total
    for file in _CONTAINER_LIMITS:
        try:
            limit = file.read_text().strip()
        except OSError:
            continue  # Not this kind of control group.
        if limit.isdigit():
            total = min(total, int(limit))
    return total


def refuse_what_never_fits(replay_bytes: int) -> None:
    available = total_bytes()
    if replay_bytes > available:
        message = f"needs {replay_bytes / 2**30:.1f} GiB once full; this machine has {available / 2**30:.1f} GiB"
        raise ConfigError([Problem("buffer_size", message)], what="replay buffer")
