"""Who a process is: pid, start time and boot id together; a pid alone may have been given to another process."""

import json
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import psutil
from annotated_types import Ge, Le

from mosaic import config
from mosaic.operating_system import boot_id, start_time
from mosaic.spec.files.shared_files import read_small, write_atomically


@dataclass(frozen=True, kw_only=True)
class ProcessIdentity:
    """The content of `worker.json`."""

    pid: Annotated[int, Ge(1), Le(2**31 - 1)]
    """Process id."""
    start_time: float
    """When the kernel started it: clock ticks since the boot on Linux, unix seconds elsewhere."""
    boot_id: str
    """Which boot of the machine."""
    host: str
    """Which machine."""
    attempt: Annotated[int, Ge(0), Le(2**31 - 1)] = 1
    """Which attempt of the run."""

    @property
    def is_alive(self) -> bool:
        """Whether this very process still runs; a zombie does not, nor does another process with its pid."""
        if self.boot_id != boot_id() or self.host != socket.gethostname():
            return False
        try:
            zombie = psutil.Process(self.pid).status() == psutil.STATUS_ZOMBIE
            return not zombie and start_time(self.pid) == self.start_time
        except psutil.NoSuchProcess:
            return False


def identify(pid: int, *, attempt: int = 1) -> ProcessIdentity:
    return ProcessIdentity(
        pid=pid,
        start_time=start_time(pid),
        boot_id=boot_id(),
        host=socket.gethostname(),
        attempt=attempt,
    )


def write_self(path: Path, *, attempt: int) -> None:
    identity = identify(os.getpid(), attempt=attempt)
    write_atomically(path, json.dumps(config.to_json(identity), indent=1) + "\n")


def read(path: Path) -> ProcessIdentity:
    return config.from_json_text(ProcessIdentity, read_small(path), what=str(path))
