"""The NVIDIA GPUs of this machine through NVML: which there are, and how busy each is."""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pynvml


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
    with _nvml() as count:
        return [str(pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(index))) for index in range(count)]


def loads() -> list[GpuLoad]:
    """A GPU that has fallen off the bus is left out; the others, and whoever asks, go on."""
    found: list[GpuLoad] = []
    with _nvml() as count:
        for index in range(count):
            with suppress(pynvml.NVMLError):
                found.append(_load(pynvml.nvmlDeviceGetHandleByIndex(index)))
    return found


def _load(handle: Any) -> GpuLoad:
    """A GPU that does not tell how busy it is (some virtual ones) counts as idle."""
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    try:
        percent = float(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu)
    except pynvml.NVMLError:
        percent = 0.0
    return GpuLoad(str(pynvml.nvmlDeviceGetName(handle)), percent, int(memory.used), int(memory.total))


@contextmanager
def _nvml() -> Generator[int]:
    """How many GPUs there are, while NVML may be asked about them."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:  # No driver on this machine, or none that answers.
        yield 0
        return
    try:
        yield int(pynvml.nvmlDeviceGetCount())
    finally:
        pynvml.nvmlShutdown()
