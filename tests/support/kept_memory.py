"""Trainings in the process of the tests: what they leave behind is given back once it has grown large.

A training freezes all objects that there are. That is right for the process of one run, which ends with it; a process
of hundreds would keep their replay memories, gigabytes of them.
"""

import ctypes
import gc

import psutil

ROOM_BYTES = 512 * 2**20
"""What may be left behind: looking through all objects takes a tenth of a second."""


class KeptMemory:
    def __init__(self) -> None:
        self._process = psutil.Process()
        self._least_bytes = 0

    def give_back(self) -> None:
        gc.unfreeze()
        if self._process.memory_info().rss < self._least_bytes + ROOM_BYTES:
            return
        gc.collect()
        # glibc alone keeps what was freed.
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
        self._least_bytes = self._process.memory_info().rss
