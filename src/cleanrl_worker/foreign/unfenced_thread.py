"""A thread from before the fence: it does for the run what the script's own thread may not do any more."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class UnfencedThread:
    def __init__(self) -> None:
        self._pid = os.getpid()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="unfenced")
        # Begun now: rights are those of the moment at which a thread begins.
        self._thread.submit(lambda: None).result()

    def do(self, task: Callable[[], T]) -> T:
        """Wait for it; an error of the task is raised here. In a forked process there is no such thread."""
        return self._thread.submit(task).result() if os.getpid() == self._pid else task()

    def close(self) -> None:
        self._thread.shutdown()
