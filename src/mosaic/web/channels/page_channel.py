"""One thing that a page looks at, over the WebSocket that all of them share.

A page opens a channel under a number of its own choice; every message of it carries that number. A channel is a task:
it ends when the page closes it, or with the WebSocket.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from mosaic.errors import ConfigError, MosaicError, Problem
from mosaic.rpc.locate import DaemonUnavailable
from mosaic.web import wire
from mosaic.web.daemon_news import DaemonNews
from mosaic.web.server_room import ServerRoom

R = TypeVar("R")
RETRY_S = 0.3
PATIENCE_S = 3600.0


class Channel:
    """A kind of channel overrides `work`."""

    def __init__(
        self,
        number: int,
        asked: Mapping[str, Any],
        news: DaemonNews,
        room: ServerRoom,
        send: Callable[[str | bytes], Awaitable[None]],
    ) -> None:
        self.number, self.asked, self.news, self.room = number, asked, news, room
        self._send = send

    async def run(self) -> None:
        """Until it is cancelled; what the daemon refuses is told, and a daemon that is gone is waited for."""
        while True:
            try:
                await self.work()
                return
            except DaemonUnavailable:
                await self._wait_for_daemon()
            except MosaicError as error:
                await self.tell(error=error.sentence)
                return

    async def work(self) -> None:
        raise NotImplementedError

    def acknowledge(self) -> None:
        """The page has taken in a message that asked for it."""

    async def tell(self, **content: object) -> None:
        await self._send(wire.text({"c": self.number, **content}))

    async def show(self, picture: bytes, **header: object) -> None:
        await self._send(wire.message({"c": self.number, **header}, picture))

    async def draw(self, header: Mapping[str, object], **columns: NDArray[np.float64]) -> None:
        await self._send(wire.columns({"c": self.number, **header}, **columns))

    async def ask(self, call: Callable[[], R]) -> R:
        """A call of the daemon, in a thread."""
        return await self.room.ask(call)

    def word(self, name: str, default: str = "") -> str:
        """A text of the request."""
        value = self.asked.get(name, default)
        if not isinstance(value, str):
            raise ConfigError([Problem(name, "must be a text")], what="request of the page")
        return value

    def words(self, name: str, *, most: int) -> list[str]:
        return words_of(self.asked.get(name, []), name, most=most)

    def number_of(self, name: str, default: float, low: float, high: float) -> float:
        value = self.asked.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise ConfigError([Problem(name, f"must be a number from {low} to {high}")], what="request of the page")
        return value

    async def _wait_for_daemon(self) -> None:
        await asyncio.sleep(RETRY_S)
        while self.news.state != "connected":
            await self.news.state_changed.after(self.news.state_changed.version, at_most_s=PATIENCE_S)


def words_of(value: object, name: str, *, most: int) -> list[str]:
    """A list of texts; ConfigError that names it if it is something else."""
    found = cast("list[object]", value) if isinstance(value, list) else None
    if found is None or len(found) > most or not all(isinstance(one, str) for one in found):
        raise ConfigError([Problem(name, f"must be a list of at most {most} texts")], what="request of the page")
    return cast("list[str]", found)
