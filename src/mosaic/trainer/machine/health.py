"""How the daemon and its machine are doing."""

import os
import shutil
import threading
import time
from collections.abc import Callable

import psutil

from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec.queue_place import PLAY
from mosaic.spec.states import LIVE
from mosaic.trainer.machine import gpus
from mosaic.trainer.runs.supervisor import Supervisor

LOW_DISK_BYTES = 2**30
SAMPLE_S = 1.0
"""The machine is looked at no more often than this, however many clients ask, and not at all while none does."""


class Health:
    """Answers GetHealth, and passes on the wish to end."""

    def __init__(self, supervisor: Supervisor, gpu_names: list[str], is_warm: Callable[[], bool]) -> None:
        self._supervisor = supervisor
        self._gpu_names = gpu_names
        self._is_warm = is_warm
        self._started = time.monotonic()
        self._sampling = threading.Lock()
        self._sample = pb.Health()
        self._next_sample = 0.0
        psutil.cpu_percent()  # the first look only says where the second one counts from
        self.address = ""
        self.ending = threading.Event()
        self.warnings: list[str] = []

    def ask_to_end(self) -> None:
        self.ending.set()

    def look(self) -> pb.Health:
        supervisor = self._supervisor
        disk = shutil.disk_usage(supervisor.home.trainer)
        free = disk.free
        low = [f"only {free / 2**20:.0f} MiB are left on the disk of the home"] if free < LOW_DISK_BYTES else []
        runs = supervisor.store.counts()
        indexed, total = supervisor.indexed(runs)
        if supervisor.waiting_for_room:
            low.append(f"queued runs wait for room: {supervisor.waiting_for_room}")
        if unwritten := len(supervisor.unwritten()):
            low.append(f"the disk refuses to be written: what happened to {unwritten} runs is in memory only")
        here = [run for run in supervisor.store.by_states(LIVE) if run.pid and supervisor.runs_here(run)]
        used = sum(min(run.cpus, supervisor.slots.cpus) for run in here if run.kind != PLAY)
        found = pb.Health(
            pid=os.getpid(),
            uptime_s=time.monotonic() - self._started,
            home=str(supervisor.home.root),
            address=self.address,
            runs=runs,
            indexed=indexed,
            index_total=total,
            cpu_slots=supervisor.slots.cpus,
            cpu_slots_used=used,
            gpus=self._gpu_names,
            disk_free_bytes=free,
            disk_total_bytes=disk.total,
            warm_workers=int(self._is_warm()),
            warnings=[*self.warnings, *low],
        )
        found.MergeFrom(self._load())
        supervisor.indexing.answered()
        return found

    def _load(self) -> pb.Health:
        """How busy the machine is, as a part of the answer."""
        with self._sampling:
            now = time.monotonic()
            if now >= self._next_sample:
                self._next_sample = now + SAMPLE_S
                memory = psutil.virtual_memory()
                self._sample = pb.Health(
                    cpu_percent=psutil.cpu_percent(),
                    memory_used_bytes=memory.total - memory.available,
                    memory_total_bytes=memory.total,
                    gpu_loads=[
                        pb.GpuLoad(
                            name=gpu.name,
                            percent=gpu.percent,
                            memory_used_bytes=gpu.memory_used,
                            memory_total_bytes=gpu.memory_total,
                        )
                        for gpu in (gpus.loads() if self._gpu_names else ())
                    ],
                )
            return self._sample
