"""How much memory there is, and the refusal of what would never fit: provided lazily, it would run out hours later."""

from pathlib import Path

import psutil
import torch

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
        raise ConfigError([Problem("--buffer-size", message)], what="replay buffer")


def refuse_a_rollout_that_never_fits(rollout_bytes: int, *, on_gpu: bool) -> None:
    available = torch.cuda.get_device_properties(0).total_memory if on_gpu else total_bytes()
    if rollout_bytes > available:
        where = "the GPU" if on_gpu else "this machine"
        needs = f"needs {rollout_bytes / 2**30:.1f} GiB for its observations"
        message = f"a rollout of --num-envs × --num-steps {needs}; {where} has {available / 2**30:.1f} GiB"
        raise ConfigError([Problem("--num-steps", message)], what="rollout")
