"""How the daemon and its machine are doing."""

import os
import shutil
import threading
import time
from collections.abc import Callable

from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec.states import LIVE
from mosaic.trainer.supervisor import Supervisor

LOW_DISK_BYTES = 2**30


class Health:
    """Answers GetHealth, and passes on the wish to end."""

    def __init__(self, supervisor: Supervisor, gpus: list[str], is_warm: Callable[[], bool]) -> None:
        self._supervisor = supervisor
        self._gpus = gpus
        self._is_warm = is_warm
        self._started = time.monotonic()
        self.address = ""
        self.ending = threading.Event()
        self.warnings: list[str] = []

    def ask_to_end(self) -> None:
        self.ending.set()

    def look(self) -> pb.Health:
        supervisor = self._supervisor
        free = shutil.disk_usage(supervisor.home.trainer).free
        low = [f"only {free / 2**20:.0f} MiB are left on the disk of the home"] if free < LOW_DISK_BYTES else []
        used = sum(min(run.cpus, supervisor.slots.cpus) for run in supervisor.store.by_states(LIVE) if run.pid)
        return pb.Health(
            pid=os.getpid(),
            uptime_s=time.monotonic() - self._started,
            home=str(supervisor.home.root),
            address=self.address,
            runs=supervisor.store.counts(),
            cpu_slots=supervisor.slots.cpus,
            cpu_slots_used=used,
            gpus=self._gpus,
            disk_free_bytes=free,
            warm_workers=int(self._is_warm()),
            warnings=[*self.warnings, *low],
        )
