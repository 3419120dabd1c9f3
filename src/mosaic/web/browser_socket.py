"""The one WebSocket of a page: it opens and closes channels by number, and all news comes over it."""

import asyncio
import contextlib
import json
from collections.abc import Mapping
from typing import Any, cast

from starlette.websockets import WebSocket, WebSocketDisconnect

from mosaic.log import get_logger
from mosaic.web import wire
from mosaic.web.channels.curves_channel import CurvesChannel
from mosaic.web.channels.frames_channel import FramesChannel
from mosaic.web.channels.log_channel import LogChannel
from mosaic.web.channels.machine_channel import MachineChannel
from mosaic.web.channels.page_channel import Channel
from mosaic.web.channels.run_channel import RunChannel
from mosaic.web.channels.sweeps_channel import SweepsChannel
from mosaic.web.channels.table_channel import TableChannel
from mosaic.web.daemon_news import DaemonNews
from mosaic.web.server_room import NoRoom, ServerRoom

CHANNELS: Mapping[str, type[Channel]] = {
    "machine": MachineChannel,
    "table": TableChannel,
    "run": RunChannel,
    "curves": CurvesChannel,
    "frames": FramesChannel,
    "log": LogChannel,
    "sweeps": SweepsChannel,
}
MOST_CHANNELS = 24
MOST_TEXT = 200_000
"""Characters of a message of the page."""
BAD_MESSAGE = 1007
TRY_LATER = 1013

log = get_logger()


class BrowserSocket:
    """Of one page, until that leaves."""

    def __init__(self, socket: WebSocket, news: DaemonNews, room: ServerRoom) -> None:
        self._socket, self._news, self._room = socket, news, room
        self._open: dict[int, tuple[Channel, asyncio.Task[None]]] = {}
        self._sending = asyncio.Lock()

    async def serve(self) -> None:
        # A page reads why it was refused only once it was let in.
        await self._socket.accept()
        try:
            with self._room.sockets.held():
                await self._serve()
        except NoRoom as error:
            await self._socket.close(TRY_LATER, error.sentence)

    async def _serve(self) -> None:
        try:
            while True:
                await self._take(await self._socket.receive_text())
        except WebSocketDisconnect:
            pass
        except (ValueError, KeyError, TypeError):
            with contextlib.suppress(RuntimeError):  # It left meanwhile.
                await self._socket.close(BAD_MESSAGE, "not a message of this page")
        finally:
            tasks = [task for _, task in self._open.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _take(self, text: str) -> None:
        if len(text) > MOST_TEXT:
            raise ValueError(text[:20])
        asked = cast("dict[str, Any]", json.loads(text))
        # What is not an object, or lacks a key, raises: `serve` ends the socket then.
        number = asked["c"]
        if not isinstance(number, int):
            raise TypeError(number)
        if "ack" in asked:
            if number in self._open:
                self._open[number][0].acknowledge()
            return
        self._close(number)
        if "open" in asked:
            channel = CHANNELS[asked["open"]](number, asked, self._news, self._room, self._tell)
            if len(self._open) >= MOST_CHANNELS:
                await channel.tell(error=f"a page has at most {MOST_CHANNELS} channels")
                return
            self._open[number] = (channel, asyncio.create_task(self._run(channel)))

    def _close(self, number: int) -> None:
        if number in self._open:
            self._open.pop(number)[1].cancel()

    async def _run(self, channel: Channel) -> None:
        try:
            await channel.run()
        except (WebSocketDisconnect, RuntimeError):  # The page has left; `serve` ends too.
            return
        except Exception:  # The border of the task: one view that fails leaves the others as they are.
            log.exception("web.channel_failed", channel=type(channel).__name__)
            with contextlib.suppress(WebSocketDisconnect, RuntimeError):
                await self._tell(
                    wire.text({"c": channel.number, "error": "an error in mosaic web; its terminal has it"})
                )

    async def _tell(self, message: str | bytes) -> None:
        async with self._sending:
            if isinstance(message, str):
                await self._socket.send_text(message)
            else:
                await self._socket.send_bytes(message)
