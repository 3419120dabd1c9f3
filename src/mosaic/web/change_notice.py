"""A number that grows with every change: threads raise it, tasks of the event loop wait for it."""

import asyncio


class ChangeNotice:
    """Of one thing that changes."""

    def __init__(self) -> None:
        self.version = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Event] = set()

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def raise_it(self) -> None:
        """From any thread."""
        self.version += 1
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for event in self._waiting:
            event.set()

    async def after(self, version: int, *, at_most_s: float) -> int:
        """The number, once it is another than `version`, or after so many seconds."""
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            if self.version == version:
                await asyncio.wait_for(event.wait(), at_most_s)
        except TimeoutError:
            pass
        finally:
            self._waiting.discard(event)
        return self.version
