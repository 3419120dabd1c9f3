"""What all pages of a server may take together: WebSockets, threads, curves, live pictures; more is refused.

A thread that asks a slow daemon cannot be ended: it keeps its place among the threads until the daemon has answered,
even where the page that wanted the answer has left.
"""

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from mosaic.errors import MosaicError
from mosaic.web.binned_curve import BINS

R = TypeVar("R")
THREADS = 16
"""For the channels of all pages; requests over HTTP have their own."""
WORKERS = 4
SOCKETS = 64
PICTURES = 64
ALL_BINS = 2**20
"""A bin takes 40 bytes: 42 MB for the curves of all pages."""
CHANNEL_BINS = 2**18


class NoRoom(MosaicError):
    """Other pages have taken what there is."""


class Share:
    """So much of one thing; taken and given back in the event loop."""

    def __init__(self, most: int, refusal: str) -> None:
        self.most, self.taken = most, 0
        self._refusal = refusal

    @contextmanager
    def held(self, count: int = 1) -> Generator[None]:
        """NoRoom if there is not so much left."""
        if self.taken + count > self.most:
            raise NoRoom(self._refusal)
        self.taken += count
        try:
            yield
        finally:
            self.taken -= count


class ServerRoom:
    """Of one server."""

    def __init__(self, *, threads: int = THREADS) -> None:
        self.sockets = Share(SOCKETS, f"{SOCKETS} pages are open here already; close one")
        self.pictures = Share(PICTURES, f"{PICTURES} live views are open here already; close one")
        self.bins = Share(ALL_BINS, "the curves of the pages that are open take all the room there is; close one")
        self.fetching = asyncio.Lock()
        """Held while a table fetches what all tables lack: the others find it there."""
        self._threads = ThreadPoolExecutor(threads, "channel")
        self._workers = ThreadPoolExecutor(WORKERS, "work")

    async def ask(self, call: Callable[[], R]) -> R:
        """In a thread. Who stops waiting frees none: a call that has begun keeps it, one that has not is dropped."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def compute(self, work: Callable[[], R]) -> R:
        """What asks no daemon, in a thread: it does not stand behind calls that do."""
        return await asyncio.get_running_loop().run_in_executor(self._workers, work)

    def close(self) -> None:
        self._workers.shutdown(wait=False, cancel_futures=True)
        self._threads.shutdown(wait=False, cancel_futures=True)


def bins_of(curves: int) -> int:
    """Of each of so many curves of one page: beside a hundred others a curve is drawn with fewer points."""
    bins = BINS
    while bins * curves > CHANNEL_BINS:
        bins //= 2
    return bins
