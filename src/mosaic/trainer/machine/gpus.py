"""The NVIDIA GPUs of this machine through NVML: which there are, and how busy each is.

pynvml is loaded where there is a driver only: most machines have none, and the daemon answers before anything else.
"""

import ctypes
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

DRIVER = "libnvidia-ml.so.1"
"""What pynvml looks for; without it, it has nothing to tell."""


@dataclass(frozen=True)
class GpuLoad:
    """One GPU, now."""

    name: str
    percent: float
    """Share of the last moments in which it computed."""
    memory_used: int
    memory_total: int


def names() -> list[str]:
    """In the order of their bus addresses, which CUDA is told to keep; empty without a driver."""
    if not _has_driver():
        return []
    import pynvml

    with _nvml() as count:
        return [str(pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(index))) for index in range(count)]


def loads() -> list[GpuLoad]:
    """A GPU that has fallen off the bus is left out; the others, and the caller, go on."""
    import pynvml

    found: list[GpuLoad] = []
    with _nvml() as count:
        for index in range(count):
            with suppress(pynvml.NVMLError):
                found.append(_load(pynvml.nvmlDeviceGetHandleByIndex(index)))
    return found


def _load(handle: Any) -> GpuLoad:
    """A GPU that does not tell how busy it is (some virtual ones) counts as idle."""
    import pynvml

    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    try:
        percent = float(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu)
    except pynvml.NVMLError:
        percent = 0.0
    return GpuLoad(str(pynvml.nvmlDeviceGetName(handle)), percent, int(memory.used), int(memory.total))


@contextmanager
def _nvml() -> Generator[int]:
    """How many GPUs there are, while NVML may be asked about them."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:  # No driver on this machine, or none that answers.
        yield 0
        return
    try:
        yield int(pynvml.nvmlDeviceGetCount())
    finally:
        pynvml.nvmlShutdown()


def _has_driver() -> bool:
    try:
        ctypes.CDLL(DRIVER)
    except OSError:
        return False
    return True
